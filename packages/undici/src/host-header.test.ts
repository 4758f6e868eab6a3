import { describe, expect, it } from 'vitest';

import { withHost } from './service-dispatch.ts';

const HOST = 'barista.spock';

describe('the Host header', () => {
	it.each([
		['no headers', undefined, { host: HOST }],
		['null', null, { host: HOST }],
		['an object', { accept: 'x' }, { host: HOST, accept: 'x' }],
		['a list', ['accept', 'x'], ['host', HOST, 'accept', 'x']],
		['a list in which only a value is a host', ['x', 'host'], ['host', HOST, 'x', 'host']],
		['Headers', new Headers({ accept: 'x' }), ['host', HOST, 'accept', 'x']],
		['a Map', new Map([['accept', ['x', 'y']]]), ['host', HOST, 'accept', ['x', 'y']]],
	])('is added to %s', (_what, headers, expected) => {
		expect(withHost(headers, HOST)).toEqual(expected);
	});

	it.each([
		['an object', { HOST: 'mine' }],
		['a list', ['accept', 'x', 'Host', 'mine']],
		['what is no headers', 'accept: x'],
	])('is not added to %s that has one, or is none', (_what, headers) => {
		expect(withHost(headers, HOST)).toBe(headers);
	});

	it('of the caller stays in Headers', () => {
		expect(withHost(new Headers({ host: 'mine' }), HOST)).toEqual(['host', 'mine']);
	});
});
