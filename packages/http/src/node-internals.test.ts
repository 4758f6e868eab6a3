import type { ClientRequest } from 'node:http';
import { OutgoingMessage } from 'node:http';

import { describe, expect, it } from 'vitest';

import { hostHeader, setHostHeader } from './node-internals.ts';

it.each([
	['10.0.0.1', 80, '10.0.0.1'],
	['10.0.0.1', 8080, '10.0.0.1:8080'],
	['web.internal', 443, 'web.internal:443'],
	['fd00::1', 8080, '[fd00::1]:8080'],
	['fd00::1', 80, '[fd00::1]'],
])('%s, port %i: %s', (host, port, expected) => {
	expect(hostHeader(host, port, 80)).toBe(expected);
});

/** A request as far as headers go: `_header` and `outputData` are those of Node. */
function message(header: string | null, ...waiting: unknown[]): ClientRequest & { outputData: { data: unknown }[] } {
	const made = new OutgoingMessage() as unknown as ClientRequest & { _header: string | null; outputData: unknown[] };
	made.setHeader('Host', 'web.spock');
	made._header = header;
	for (const data of waiting) made.outputData.push({ data, encoding: 'latin1', callback: null });
	return made as never;
}

describe('setHostHeader', () => {
	const rendered = 'POST / HTTP/1.1\r\nX-Host: web.spock\r\nHost: web.spock\r\n\r\n';
	const changed = 'POST / HTTP/1.1\r\nX-Host: web.spock\r\nHost: $&:80\r\n\r\n';

	it('sets the header of a head that is not yet rendered', () => {
		const request = message(null);
		setHostHeader(request, '10.0.0.1');
		expect(request.getHeader('host')).toBe('10.0.0.1');
		expect(request.outputData).toEqual([]);
	});

	it('replaces just the line in what waits to be sent, the body after it untouched', () => {
		const request = message(rendered, `${rendered}a body\r\nHost: web.spock\r\n`);
		setHostHeader(request, '$&:80');
		expect(request.outputData[0]?.data).toBe(`${changed}a body\r\nHost: web.spock\r\n`);
		expect(request.getHeader('host')).toBe('$&:80');
	});

	it('leaves alone what is not where it is expected', () => {
		const request = message(rendered, Buffer.from(rendered));
		setHostHeader(request, '10.0.0.1');
		expect(String(request.outputData[0]?.data)).toBe(rendered);
	});

	it('refuses what would be another header', () => {
		expect(() => setHostHeader(message(null), 'a\r\nX-Evil: 1')).toThrow();
		expect(() => setHostHeader(message(rendered, rendered), 'a\r\nX-Evil: 1')).toThrow();
	});
});
