import { describe, expect, it } from 'vitest';

import { resolveSettings } from '../settings/resolve-settings.ts';
import { storesElsewhere } from './event-stores.ts';

const storesOf = (env: Readonly<Record<string, string>>) => storesElsewhere(resolveSettings({ flags: {}, env }));
const HTTP = { SPOCK_EVENTS_STORE: 'http' };
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
	])('%j: says what is wrong', async (env, message) => {
		await expect(storesOf(env as Record<string, string>)).rejects.toThrow(message);
	});

	it('are found with {stream} and {address} in the URL', async () => {
		const env = { ...HTTP, SPOCK_EVENTS_HTTP_URL: 'http://{address}/{stream}', SPOCK_EVENTS_HTTP_SERVICE: 'collector' };
		expect(await storesOf(env)).toBeTypeOf('function');
	});
});
