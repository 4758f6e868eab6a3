import { describe, expect, it } from 'vitest';

import type { FuncName } from './func-map.ts';
import { validateFuncData, validateKeyQuery, validateQuery } from './validate-func-data.ts';

const LONE = 'a\ud800';

describe('a query', () => {
	it.each<[string, object]>([
		['service', { service: LONE }],
		['tags[1]', { service: 'barista', tags: ['v1', LONE] }],
		['datacenter', { service: 'barista', datacenter: LONE }],
		['peer', { service: 'barista', peer: LONE }],
		['meta', { service: 'barista', meta: { [LONE]: 'x' } }],
		['meta.track', { service: 'barista', meta: { track: LONE } }],
	])('with a lone surrogate in %s is BAD_REQUEST: no registry can have that', (path, query) => {
		expect(() => validateQuery(query)).toThrow(expect.objectContaining({ code: 'BAD_REQUEST', details: { path } }));
	});

	it('for a key is held to the same', () => {
		const refusal = expect.objectContaining({ code: 'BAD_REQUEST', retryable: false });
		expect(() => validateKeyQuery({ key: LONE })).toThrow(refusal);
		expect(() => validateKeyQuery({ key: 'app/x', datacenter: LONE })).toThrow(refusal);
	});

	it('may have any whole character', () => {
		const query = { service: 'ünï\u{1f600}', tags: ['\u{10ffff}'], meta: { a: '\u{1f600}' } };
		expect(validateQuery(query)).toEqual(query);
	});
});

it('of the features in a hello 64 are kept, of at most 64 characters: a connection keeps them as long as it lasts', () => {
	const many = Array.from({ length: 100_000 }, (_, number) => `f${number}`);
	const hello = validateFuncData('hello', { versions: [1], features: ['x'.repeat(500_000), 'push', ...many] });
	expect(hello.features).toEqual(['push', ...many.slice(0, 62)]);
});

describe('an address of IPv6 in a registration', () => {
	it('loses the brackets of a URL as a host, and gets them in a check', () => {
		const registered = (more: object) => validateFuncData('registerService', { service: 'a', port: 80, ...more });
		expect(registered({ host: '[fd00::1]', taggedAddresses: { wan: { host: '[fd00::2]' } } })).toMatchObject({
			host: 'fd00::1',
			taggedAddresses: { wan: { host: 'fd00::2' } },
		});
		expect(registered({ check: { http: 'http://fd00::1:80/health' } })).toMatchObject({
			check: { http: 'http://[fd00::1]:80/health' },
		});
		expect(registered({ check: { tcp: 'fd00::1:80' } })).toMatchObject({ check: { tcp: '[fd00::1]:80' } });
	});
});

describe('a refusal', () => {
	it.each<[FuncName, unknown, string]>([
		['getService', 'barista', 'data must be an object, not "barista"'],
		['getService', { service: 'barista', tags: ['v1', 7] }, 'data.tags[1] must be a string of 1 to 512'],
		['getService', { service: 'barista', tags: ['v1', 7] }, ', not 7'],
		['watchKey', { key: 'a', prefix: 'yes' }, 'data.prefix must be true or false, not "yes"'],
		['registerService', { service: 'a', port: '80' }, 'data.port must be a port from 1 to 65535, not "80"'],
		['registerService', { service: 'a', port: 80, host: 'a b' }, 'must be an IP address or a name, not "a b"'],
		['registerService', { service: 'a', port: 80, host: '[10.0.0.1]' }, 'must be an IP address or a name'],
		['registerService', { service: 'a', port: 80, host: '[::1' }, 'must be an IP address or a name'],
		['registerService', { service: 'a'.repeat(600), port: 80 }, `not "${'a'.repeat(64)}"… (600 characters)`],
		['hello', { versions: [1], pid: 1.5 }, 'data.pid must be an integer, not 1.5'],
	])('of %s %j shows the value, short', (func, data, message) => {
		expect(() => validateFuncData(func, data)).toThrow(message);
	});

	it.each<[FuncName, object]>([
		['hello', { versions: [1], token: 'hidden\ud800' }],
		['hello', { versions: [1], secret: 'hidden' }],
		['registerService', { service: 'a', port: 80, meta: { password: 'hidden\ud800' } }],
		['registerService', { service: 'a', port: 80, check: { http: 'ftp://me:hidden@host/' } }],
	])('of %s %j shows nothing that may be a secret', (func, data) => {
		expect(() => validateFuncData(func, data)).toThrow('must be');
		expect(() => validateFuncData(func, data)).not.toThrow('hidden');
	});
});
