/**
 * The headers with a Host header, unless they have one: in each of the forms that undici takes. Those that are given are
 * not changed.
 */
export function withHost(headers: unknown, host: string): unknown {
	if (headers === undefined || headers === null) return { host };
	if (typeof headers !== 'object') return headers;
	if (Array.isArray(headers)) return inList(headers, host);
	if (Symbol.iterator in headers) return inList([...(headers as Iterable<unknown>)].flat(1), host);
	return Object.keys(headers).some(isHost) ? headers : { host, ...headers };
}

/** In a list of names and values in turn. */
function inList(list: readonly unknown[], host: string): readonly unknown[] {
	return list.some((one, index) => index % 2 === 0 && isHost(one)) ? list : ['host', host, ...list];
}

function isHost(name: unknown): boolean {
	return typeof name === 'string' && name.toLowerCase() === 'host';
}
