import type { ClientRequest } from 'node:http';
import { isIPv6 } from 'node:net';

import { internalsOf } from './node-internals.ts';

/** An instance as the Host header has it: without the port that goes without saying, and IPv6 in brackets (RFC 9110, 7.2). */
export function hostHeader(host: string, port: number, defaultPort: number): string {
	const name = isIPv6(host) ? `[${host}]` : host;
	return port === defaultPort ? name : `${name}:${port}`;
}

/**
 * Sets the Host header of a request that nothing was sent of. Its head may have been rendered, because an instance became
 * known only after `end` was called: then the line is replaced in what waits to be sent. A head that was given as an array,
 * or that is not found where it is expected, is left alone.
 */
export function setHostHeader(request: ClientRequest, value: string): void {
	const internals = internalsOf(request);
	const rendered = internals._header;
	if (rendered === null || rendered === undefined) {
		request.setHeader('Host', value);
		return;
	}
	const [first] = internals.outputData;
	const waiting = first?.data;
	if (first !== undefined && !(typeof waiting === 'string' && waiting.startsWith(rendered))) return;
	internals._header = null;
	// This also refuses what must not be in a header.
	request.setHeader('Host', value);
	const changed = rendered.replace(/\r\nhost:[^\r\n]*/i, () => `\r\nHost: ${value}`);
	internals._header = changed;
	if (first !== undefined && typeof waiting === 'string') first.data = changed + waiting.slice(rendered.length);
}
