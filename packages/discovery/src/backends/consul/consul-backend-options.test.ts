import type { ConsulBackendOptions, ConsulLoginOptions, TaggedAddress } from '@spock/discovery';
import { describe, expect, it } from 'vitest';

import { parseConsulAddress } from './client/consul-address.ts';
import { consulBackend } from './consul-backend.ts';
import { consulOptionsFromEnvironment } from './consul-backend-options.ts';

describe("Consul's own variables", () => {
	it('an empty environment asks for nothing', () => {
		expect(consulOptionsFromEnvironment({})).toEqual({});
		expect(consulOptionsFromEnvironment({ CONSUL_HTTP_ADDR: '', CONSUL_HTTP_SSL: '' })).toEqual({});
	});

	it('all of them are honoured', () => {
		const env = {
			CONSUL_HTTP_ADDR: 'c1:8501, https://c2:8502 ,unix:///run/consul.sock',
			CONSUL_HTTP_SSL: 'true',
			CONSUL_HTTP_SSL_VERIFY: 'false',
			CONSUL_HTTP_TOKEN: 'secret',
			CONSUL_HTTP_TOKEN_FILE: '/run/token',
			CONSUL_HTTP_AUTH: 'ann:s3cret',
			CONSUL_CACERT: '/ca.pem',
			CONSUL_CAPATH: '/ca',
			CONSUL_CLIENT_CERT: '/cert.pem',
			CONSUL_CLIENT_KEY: '/key.pem',
			CONSUL_TLS_SERVER_NAME: 'server.dc1.consul',
			CONSUL_NAMESPACE: 'ns1',
			CONSUL_PARTITION: 'p1',
		};
		expect(consulOptionsFromEnvironment(env)).toEqual({
			addresses: ['https://c1:8501', 'https://c2:8502', 'unix:///run/consul.sock'],
			token: 'secret',
			tokenFile: '/run/token',
			basicAuth: 'ann:s3cret',
			tls: {
				caFile: '/ca.pem',
				caPath: '/ca',
				certFile: '/cert.pem',
				keyFile: '/key.pem',
				serverName: 'server.dc1.consul',
				verify: false,
			},
			namespace: 'ns1',
			partition: 'p1',
		});
	});

	it.each(['secret\n', 'secret\r\n', ' secret '])('a token %j is read without what stands around it', (token) => {
		expect(consulOptionsFromEnvironment({ CONSUL_HTTP_TOKEN: token })).toEqual({ token: 'secret' });
	});

	it.each(['CONSUL_HTTP_SSL', 'CONSUL_HTTP_SSL_VERIFY'])(
		'%s is refused by name when it is neither true nor false',
		(name) => {
			expect(() => consulOptionsFromEnvironment({ [name]: 'maybe' })).toThrow(new RegExp(name));
		},
	);
});

describe('an address of Consul', () => {
	it.each([
		['127.0.0.1:8500', 'http://127.0.0.1:8500'],
		['consul', 'http://consul:8500'],
		['http://consul', 'http://consul:80'],
		['https://consul', 'https://consul:443'],
		['https://consul:443/', 'https://consul:443'],
		['[::1]:8500', 'http://[::1]:8500'],
		['http://fd00::1:8500', 'http://[fd00::1]:8500'],
		['fd00::1:8500', 'http://[fd00::1]:8500'],
		['https://fd00::a', 'https://[fd00::a]:443'],
		['FD00:0:0::A', 'http://[fd00::a]:8500'],
		['http://[::ffff:10.0.0.1]:8500', 'http://[::ffff:a00:1]:8500'],
		['http://[fe80::1%eth0]:8500', 'http://[fe80::1%eth0]:8500'],
		['http://[fe80::1%25eth0]', 'http://[fe80::1%eth0]:80'],
		[' http://consul:1 ', 'http://consul:1'],
		['unix:///run/consul.sock', 'unix:///run/consul.sock'],
	])('%s is %s', (text, url) => {
		expect(parseConsulAddress(text).url).toBe(url);
	});

	it('TLS that was asked for is never given up', () => {
		expect(parseConsulAddress('http://consul:8501', true)).toMatchObject({ secure: true, url: 'https://consul:8501' });
	});

	it.each([
		'',
		'ftp://consul',
		'http://',
		'unix://relative',
		'http://consul/prefix',
		'http://consul?x=1',
		'http://1:2:3',
		'http://[10.0.0.1]:1',
	])('%j is refused', (text) => {
		expect(() => parseConsulAddress(text)).toThrow(TypeError);
	});

	it.each(['http://user:secret@consul:8500', 'http://user:secret@/x y'])(
		'credentials in %s are refused, not shown',
		(text) => {
			expect(() => parseConsulAddress(text)).toThrow(TypeError);
			expect(() => parseConsulAddress(text)).not.toThrow(/secret/);
		},
	);
});

describe('wrong options', () => {
	it.each([
		[{ addresses: [] }, /addresses/],
		[{ addresses: [7] }, /addresses\[0\]/],
		[{ waitMs: 999 }, /waitMs/],
		[{ consistency: 'never' }, /consistency/],
		[{ cached: 'yes' }, /cached/],
		[{ cached: true, consistency: 'consistent' }, /cached/],
		[{ taggedAddress: 'moon' }, /taggedAddress/],
		[{ token: 'two\nlines' }, /^token must be/],
		[{ token: 'sécret' }, /^token must be/],
		[{ heldMax: 0 }, /heldMax/],
		[{ heldMax: 10_001 }, /heldMax/],
		[{ pollsPerMinuteMax: 1 }, /pollsPerMinuteMax/],
		[{ pollsPerMinuteMax: 1_000_001 }, /pollsPerMinuteMax/],
		[{ login: { method: '' } }, /login\.method/],
		[{ login: { method: 'pods', tokenFile: '' } }, /login\.tokenFile/],
	])('%j are refused by name', (options, name) => {
		const create = () => consulBackend(options as Parameters<typeof consulBackend>[0]);
		expect(create).toThrow(name);
		expect(create).not.toThrow(/sécret|two/);
	});
});

describe('the options of the backend', () => {
	it('can be written down in parts, by types that are exported', () => {
		const login: ConsulLoginOptions = { method: 'pods', meta: { pod: 'p1' } };
		const taggedAddress: TaggedAddress = 'wan';
		const options: Pick<ConsulBackendOptions, 'login' | 'taggedAddress'> = { login, taggedAddress };
		expect(() => consulBackend({ ...options, taggedAddress: 'moon' as TaggedAddress })).toThrow('taggedAddress');
	});
});
