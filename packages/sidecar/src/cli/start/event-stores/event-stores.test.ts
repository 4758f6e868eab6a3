import { SpockError } from '@spock/protocol';
import { FakeClock } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { resolveSettings } from '../../settings/resolve-settings.ts';
import { storesElsewhere } from './event-stores.ts';

const storesOf = (env: Readonly<Record<string, string>>) => storesElsewhere(resolveSettings({ flags: {}, env }));
const HTTP = { SPOCK_EVENTS_STORE: 'http' };
const RELAY = { SPOCK_EVENTS_STORE: 'relay' };
const NATS = { SPOCK_EVENTS_STORE: 'jetstream' };

describe('the settings of the store of events', () => {
	it('keep all streams in the log by default', async () => {
		expect(await storesOf({})).toBeUndefined();
	});

	it.each([
		[{ SPOCK_EVENTS_STORE_STREAMS: 'a' }, 'SPOCK_EVENTS_STORE_STREAMS needs --events-store'],
		[{ SPOCK_EVENTS_HTTP_URL: 'http://a/' }, 'SPOCK_EVENTS_HTTP_URL needs --events-store http'],
		[{ ...NATS, SPOCK_EVENTS_HTTP_SERVICE: 'a' }, 'SPOCK_EVENTS_HTTP_SERVICE needs --events-store http'],
		[{ ...HTTP, SPOCK_EVENTS_NATS_SERVICE: 'a' }, 'SPOCK_EVENTS_NATS_SERVICE needs --events-store jetstream'],
		[HTTP, '--events-store http needs --events-http-url URL'],
		[
			{ ...HTTP, SPOCK_EVENTS_HTTP_URL: 'ftp://a/' },
			'SPOCK_EVENTS_HTTP_URL must be an http or https URL, not ftp://a/',
		],
		[
			{ ...HTTP, SPOCK_EVENTS_HTTP_URL: 'http://{address}/' },
			'{address} in SPOCK_EVENTS_HTTP_URL needs --events-http-service',
		],
		[
			{ ...HTTP, SPOCK_EVENTS_HTTP_URL: 'http://a/', SPOCK_EVENTS_HTTP_SERVICE: 'a' },
			'SPOCK_EVENTS_HTTP_SERVICE needs {address} in --events-http-url',
		],
		[NATS, '--events-store jetstream needs --events-nats-service NAME or --events-nats-servers ADDRESSES'],
		[{ ...NATS, SPOCK_EVENTS_NATS_SERVICE: 'a', SPOCK_EVENTS_NATS_SERVERS: 'b:1' }, 'not both'],
		[{ SPOCK_EVENTS_RELAY_CA: 'a' }, 'SPOCK_EVENTS_RELAY_CA needs --events-store relay'],
		[RELAY, '--events-store relay needs --events-relay-service NAME or --events-relay-address ADDRESS'],
		[{ ...RELAY, SPOCK_EVENTS_RELAY_SERVICE: 'a', SPOCK_EVENTS_RELAY_ADDRESS: 'b:1' }, 'not both'],
		[
			{ ...RELAY, SPOCK_EVENTS_RELAY_ADDRESS: 'http://a' },
			'SPOCK_EVENTS_RELAY_ADDRESS must be HOST:PORT or tls://HOST:PORT, not http://a',
		],
		[
			{ ...RELAY, SPOCK_EVENTS_RELAY_ADDRESS: 'a:1', SPOCK_EVENTS_RELAY_CA: 'ca.pem' },
			'SPOCK_EVENTS_RELAY_CA needs tls://HOST:PORT in --events-relay-address',
		],
		[
			{ ...RELAY, SPOCK_EVENTS_RELAY_ADDRESS: 'tls://a:1', SPOCK_EVENTS_RELAY_CERT: 'cert.pem' },
			'SPOCK_EVENTS_RELAY_CERT needs --events-relay-key',
		],
		[
			{ ...RELAY, SPOCK_EVENTS_RELAY_ADDRESS: 'tls://a:1', SPOCK_EVENTS_RELAY_KEY: 'key.pem' },
			'SPOCK_EVENTS_RELAY_KEY needs --events-relay-cert',
		],
		[{ SPOCK_EVENTS_STORE_OF: 'audit' }, 'SPOCK_EVENTS_STORE_OF must be STREAM=STORE, not audit'],
		[
			{ SPOCK_EVENTS_STORE_OF: 'audit=htpp' },
			'SPOCK_EVENTS_STORE_OF: unknown store "htpp" of stream "audit"; did you mean "http"?',
		],
		[
			{ SPOCK_EVENTS_STORE_OF: 'audit=relay:tls://b:1' },
			'SPOCK_EVENTS_STORE_OF: "relay:tls://b:1" of stream "audit" names more than a kind of store, which is one of ' +
				'embedded, http, jetstream, relay: a sidecar has one store of each kind',
		],
		[{ SPOCK_EVENTS_STORE_OF: 'audit=embedded,audit=http' }, 'SPOCK_EVENTS_STORE_OF names the stream "audit" twice'],
		[{ SPOCK_EVENTS_STORE_OF: 'audit=http' }, '--events-store http needs --events-http-url URL'],
		[
			{ SPOCK_EVENTS_STORE_OF: 'audit=embedded', SPOCK_EVENTS_HTTP_URL: 'http://a/' },
			'SPOCK_EVENTS_HTTP_URL needs --events-store http, or --events-store-of STREAM=http',
		],
	])('%j: says what is wrong', async (env, message) => {
		await expect(storesOf(env as Record<string, string>)).rejects.toThrow(message);
	});

	it('are refused with the name of the config file', async () => {
		const file = { name: 'spock.yaml', values: { eventsStoreOf: ['audit=htpp'] } };
		const settings = resolveSettings({ flags: {}, env: {}, file });
		await expect(storesElsewhere(settings)).rejects.toThrow('eventsStoreOf in spock.yaml: unknown store "htpp"');
	});

	it('keep a stream in the log whose own store that is, and send the others to theirs', async () => {
		const { forwarding, end } = await started({
			...{ ...RELAY, SPOCK_EVENTS_RELAY_ADDRESS: 'a:1', SPOCK_EVENTS_HTTP_URL: 'http://a/' },
			SPOCK_EVENTS_STORE_OF: 'audit=http,debug=embedded',
		});
		const names = ['audit', 'debug', 'orders'].map((stream) => forwarding.storeOf(stream)?.name);
		expect(names).toEqual(['http', undefined, 'relay']);
		await end();
	});

	it('are found with {stream} and {address} in the URL', async () => {
		const env = { ...HTTP, SPOCK_EVENTS_HTTP_URL: 'http://{address}/{stream}', SPOCK_EVENTS_HTTP_SERVICE: 'collector' };
		expect(await storesOf(env)).toBeTypeOf('function');
	});

	const ORIGIN = { kind: 'event', producer: 'p', epoch: 1, seq: 1, position: 1, time: 1 } as const;
	const TEXT = '{"stream":"orders","payload":1}';
	const EVENT = { ...ORIGIN, stream: 'orders', key: undefined, id: undefined, text: TEXT };

	/** The store of a sidecar that has just read its log; `named` gives that a name. */
	async function started(env: Readonly<Record<string, string>>) {
		const get = async (): Promise<never> => {
			throw new SpockError('BAD_REQUEST', 'no such name can be');
		};
		const source = { get, watch: () => ({ stop: () => undefined }) };
		const [clock, random] = [new FakeClock(), () => 0.5];
		const make = await storesOf(env);
		const { forwarding: forward, close } = make?.({ source, clock, random } as never) ?? expect.unreachable();
		const log = {
			append: () => 1,
			first: 1,
			persisted: 1,
			lastOf: () => 0,
			read: async () => ({ events: [], next: 1 }),
		};
		const forwarding = forward({
			...{ log, clock, random, observer: {}, countAbove: () => 0, bury: async () => undefined },
			...{ refused: () => undefined, stored: () => undefined, reached: () => undefined },
		});
		forwarding.start([]);
		const named = (): void => {
			log.persisted = 2;
			forwarding.committed();
		};
		const append = (): Promise<void> | undefined =>
			forwarding.storeOf('orders')?.append('orders', [EVENT], () => undefined);
		const end = async (): Promise<void> => {
			forwarding.stop();
			await close();
		};
		return { forwarding, named, append, end };
	}

	it.each([
		{ ...HTTP, SPOCK_EVENTS_HTTP_URL: 'http://{address}/{stream}', SPOCK_EVENTS_HTTP_SERVICE: ' ' },
		{ ...NATS, SPOCK_EVENTS_NATS_SERVICE: ' ' },
	])('%j: what the registry refuses is no fault of an event', async (env) => {
		const { named, append, end } = await started(env);
		named();
		await expect(append()).rejects.toMatchObject({
			code: 'UNAVAILABLE',
			message: expect.stringContaining('no such name'),
		});
		await end();
	});

	it('a file of TLS that cannot be used is named, and the events wait', async () => {
		const [cert, key] = ['/nowhere/client.cert', '/nowhere/client.key'];
		const files = { SPOCK_EVENTS_RELAY_CERT: cert, SPOCK_EVENTS_RELAY_KEY: key };
		const { named, append, end } = await started({
			...RELAY,
			SPOCK_EVENTS_RELAY_ADDRESS: 'tls://127.0.0.1:1',
			...files,
		});
		named();
		await expect(append()).rejects.toMatchObject({ message: expect.stringContaining(cert) });
		await end();
	});

	it.each([
		['cannot be read: ENOENT', '/nowhere/token'],
		['cannot be read: EISDIR', '/'],
		['is empty', '/dev/null'],
		['must contain one token of printable ASCII characters', '/etc/passwd'],
	])('the file of a token that %s is named with its setting, at the start and when it is used', async (fault, file) => {
		const relay = { ...RELAY, SPOCK_EVENTS_RELAY_ADDRESS: '127.0.0.1:1', SPOCK_EVENTS_RELAY_TOKEN_FILE: file };
		const http = { ...HTTP, SPOCK_EVENTS_HTTP_URL: 'http://127.0.0.1:1/', SPOCK_EVENTS_HTTP_TOKEN_FILE: file };
		const nats = { ...NATS, SPOCK_EVENTS_NATS_SERVERS: '127.0.0.1:1', SPOCK_EVENTS_NATS_TOKEN_FILE: file };
		for (const [kind, env] of Object.entries({ relay, http, jetstream: nats })) {
			const setting = `SPOCK_EVENTS_${kind === 'jetstream' ? 'NATS' : kind.toUpperCase()}_TOKEN_FILE`;
			const message = `${setting}: the token file ${file} ${fault}`;
			const told: string[] = [];
			const settings = resolveSettings({ flags: {}, env });
			await storesElsewhere(settings, (store, error) => told.push(`${store} ${error.message}`));
			expect(told).toEqual([`${kind} ${message}`]);
			const { named, append, end } = await started(env);
			named();
			await expect(append()).rejects.toMatchObject({ code: 'UNAVAILABLE', message: expect.stringContaining(message) });
			await end();
		}
	});

	it('is not used before the log has a name: a consumer tries again', async () => {
		const { forwarding, end } = await started({ ...NATS, SPOCK_EVENTS_NATS_SERVERS: '127.0.0.1:1' });
		const reader = forwarding.storeOf('orders')?.reader('orders', { group: 'billing', from: 'first' });
		await expect(reader).rejects.toMatchObject({ code: 'UNAVAILABLE' });
		await end();
	});
});
