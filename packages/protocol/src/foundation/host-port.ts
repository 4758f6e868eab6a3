import { isHost } from './host.ts';

/** A host, and its port where one is given. */
export interface HostPort {
	/** Without brackets. */
	readonly host: string;
	readonly port: number | undefined;
}

/** True for an address of IPv6, with or without a zone. */
export function isIpv6(host: string): boolean {
	return host.includes(':') && isHost(host);
}

/**
 * Reads `HOST`, `HOST:PORT`, `[IPV6]`, `[IPV6]:PORT`, and an address of IPv6 without brackets: what Kubernetes makes of
 * `$(HOST_IP):8500`. The end of such a one is its port if it can be: `fd00::1:8500` has the port 8500, and `fd00::a` none.
 * Undefined for anything else; the host of a name is not checked. Source: RFC 3986 section 3.2.2, RFC 6874.
 */
export function splitHostPort(text: string): HostPort | undefined {
	const [, inBrackets, after] = /^\[([^[\]]+)\](?::(\d{1,5}))?$/.exec(text) ?? [];
	if (inBrackets !== undefined) {
		const host = inBrackets.replace('%25', '%');
		return isIpv6(host) ? withPort(host, after) : undefined;
	}
	const [, before = text, end] = /^(.*):(\d{1,5})$/.exec(text) ?? [];
	if (/[\s[\]]/.test(text)) return undefined;
	if (before.includes(':')) {
		if (end !== undefined && isIpv6(before)) return withPort(before, end);
		return isIpv6(text) ? { host: text, port: undefined } : undefined;
	}
	return isIpv6(text) ? { host: text, port: undefined } : withPort(before, end);
}

/** A URL with brackets round a host that is an address of IPv6 without them; any other text as it is. */
export function withBrackets(url: string): string {
	const [, scheme = '', authority = '', rest = ''] = /^([a-z][a-z0-9+.-]*:\/\/)([^/?#@]*)(.*)$/is.exec(url) ?? [];
	const place = splitHostPort(authority);
	return place === undefined || !isIpv6(place.host) ? url : `${scheme}${formatHostPort(place)}${rest}`;
}

/** `HOST` or `HOST:PORT`, with brackets round an address of IPv6. */
export function formatHostPort({ host, port }: HostPort): string {
	const name = host.includes(':') ? `[${host}]` : host;
	return port === undefined ? name : `${name}:${port}`;
}

function withPort(host: string, text: string | undefined): HostPort | undefined {
	const port = text === undefined ? undefined : Number(text);
	return port !== undefined && port > 65_535 ? undefined : { host, port };
}
