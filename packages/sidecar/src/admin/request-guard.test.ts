import type { IncomingMessage } from 'node:http';

import { describe, expect, it } from 'vitest';

import { RequestGuard } from './request-guard.ts';

const guard = new RequestGuard({ host: '0.0.0.0', allowedHosts: ['Spock.example.test', 'fd00::7'] });

interface Asked {
	readonly host?: string;
	readonly localAddress?: string;
	readonly method?: string;
	readonly url?: string;
	readonly headers?: Readonly<Record<string, string>>;
}

function statusOf({ host, localAddress = '10.1.2.3', method = 'GET', url = '/', headers = {} }: Asked): number {
	const request = {
		method,
		url,
		headers: { ...(host !== undefined && { host }), ...headers },
		socket: { localAddress },
	};
	return guard.refusal(request as unknown as IncomingMessage)?.status ?? 200;
}

describe('the names that the port answers to', () => {
	it.each<[string | undefined, number]>([
		['localhost:9464', 200],
		['LocalHost', 200],
		['localhost.:9464', 200],
		['127.0.0.1:9464', 200],
		['127.8.8.8', 200],
		['[::1]:9464', 200],
		['0.0.0.0:9464', 200],
		['10.1.2.3:9464', 200],
		['10.1.2.3', 200],
		['spock.example.test', 200],
		['SPOCK.example.test.:80', 200],
		['[fd00::7]:80', 200],
		['[FD00:0::7]', 200],
		// HTTP/1.0.
		[undefined, 200],
		['10.1.2.4:9464', 421],
		['evil.example', 421],
		['localhost.evil.example', 421],
		['127.0.0.1.evil.example', 421],
		['evil.example@127.0.0.1', 421],
		['127.0.0.1/x', 421],
		['localhost:9464, evil.example', 421],
		['localhost evil', 421],
		['', 421],
		[' ', 421],
		['[::1', 421],
		[':9464', 421],
		['loc%61lhost', 421],
		['ⓛocalhost', 421],
	])('Host: %s is %i', (host, status) => {
		expect(statusOf(host === undefined ? {} : { host })).toBe(status);
	});

	it('the address that a connection came in on, as IPv6 and as IPv4 through IPv6', () => {
		expect(statusOf({ host: '[fd00::9]:9464', localAddress: 'fd00::9' })).toBe(200);
		expect(statusOf({ host: '10.1.2.3:9464', localAddress: '::ffff:10.1.2.3' })).toBe(200);
		expect(statusOf({ host: '10.1.2.3:9464', localAddress: '::ffff:10.1.2.4' })).toBe(421);
	});
});

it('nothing is asked for but to be shown something', () => {
	for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE', 'CONNECT']) {
		expect(statusOf({ host: 'localhost', method })).toBe(405);
	}
	expect(statusOf({ host: 'localhost', method: 'HEAD' })).toBe(200);
	expect(statusOf({ host: 'localhost', url: `/?${'x'.repeat(2046)}` })).toBe(200);
	expect(statusOf({ host: 'localhost', url: `/?${'x'.repeat(2047)}` })).toBe(414);
});

it('a page of another site can be left for this one by a link, and can do no more with it', () => {
	const from = (site: string, mode = 'cors', dest = 'empty'): number =>
		statusOf({
			host: 'localhost',
			headers: { 'sec-fetch-site': site, 'sec-fetch-mode': mode, 'sec-fetch-dest': dest },
		});
	expect([from('same-origin'), from('none', 'navigate', 'document')]).toEqual([200, 200]);
	expect([from('cross-site'), from('same-site'), from('cross-site', 'no-cors', 'script')]).toEqual([403, 403, 403]);
	expect([from('cross-site', 'navigate', 'document'), from('cross-site', 'navigate', 'iframe')]).toEqual([200, 403]);
});
