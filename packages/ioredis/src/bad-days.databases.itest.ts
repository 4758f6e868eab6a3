import { once } from 'node:events';
import { createDiplomat, type Diplomat } from '@spock/client';
import { localSource } from '@spock/discovery';
import { freePort, makeAuthority, startSidecar, TempServices, tcpListener, tempSocket, waitFor } from '@spock/testkit';
import { findRedis, type RealRedis, startRedis } from '@spock/testkit/real-databases';
import { Redis, type RedisOptions } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { type SpockRedisOptions, spockRedis } from './index.ts';

/** How replies are shown is a matter of the type of a Redis. */
type Options = Omit<RedisOptions, 'replyMapping'>;

const SERVICE = 'cache';
const authority = makeAuthority();
const stranger = makeAuthority('a stranger');

let server: RealRedis;
beforeAll(async () => {
	const tls = authority.issue({ names: ['localhost', '127.0.0.1'] });
	server = await startRedis({ binary: findRedis(process.env), tls });
});
afterAll(() => server[Symbol.asyncDispose]());

interface Place {
	readonly host: string;
	readonly port: number;
	readonly status?: 'passing' | 'critical';
}

/** A Diplomat in direct mode, with these instances of the service: `redis-0`, `redis-1`, … */
async function diplomatTo(...places: readonly Place[]): Promise<Diplomat> {
	const instances = places.map(({ host, port, status = 'passing' }, index) => ({
		id: `redis-${index}`,
		host,
		port,
		status,
	}));
	return createDiplomat({ source: await localSource({ services: { [SERVICE]: instances } }) });
}

/** A Redis that tries again every 5 ms, and what it was told went wrong. Disposing it ends it. */
function redisOf(diplomat: Diplomat, more: Options = {}, options: Partial<SpockRedisOptions> = {}) {
	const connector = spockRedis({ diplomat, service: SERVICE, ...options });
	const redis = new Redis({ retryStrategy: () => 5, ...connector, ...more });
	const errors: Error[] = [];
	redis.on('error', (error) => errors.push(error));
	return { redis, errors, [Symbol.dispose]: () => redis.disconnect() };
}

describe('no instance', () => {
	it.each([
		['of an unknown service', [], 'NO_SUCH_SERVICE'],
		['is healthy', [{ host: '127.0.0.1', port: 1, status: 'critical' as const }], 'NO_HEALTHY_INSTANCE'],
	])('%s: error events that name the service, and it tries again', async (_what, places, code) => {
		await using diplomat = await diplomatTo(...places);
		using app = redisOf(diplomat, { maxRetriesPerRequest: 2 });
		await expect(app.redis.get('x')).rejects.toThrow(/max retries/i);
		expect(app.errors.length).toBeGreaterThan(1);
		expect(app.errors[0]).toMatchObject({ code, message: expect.stringContaining(SERVICE) });
	});

	it('is there yet: what was asked for is answered when one has come', async () => {
		await using services = await TempServices.make();
		await using diplomat = createDiplomat({ source: await localSource({ file: services.file, pollMs: 20 }) });
		using app = redisOf(diplomat, { maxRetriesPerRequest: null });
		const pong = app.redis.ping();
		await waitFor('a failed attempt', () => app.errors.length > 0);
		await services.set(SERVICE, [{ host: server.host, port: server.port }]);
		expect(await pong).toBe('PONG');
	});

	it('is known while the sidecar is away: an error within lookupTimeoutMs', async () => {
		await using place = await tempSocket();
		await using diplomat = createDiplomat({ path: place.path });
		using app = redisOf(diplomat, {}, { lookupTimeoutMs: 100 });
		const error = await waitFor('an error', () => app.errors[0]);
		expect(error).toMatchObject({ code: 'TIMEOUT', details: { service: SERVICE } });
	});

	it('will come once the Diplomat has ended: the Redis ends too', async () => {
		const diplomat = await diplomatTo();
		await diplomat.close();
		using app = redisOf(diplomat);
		await expect(app.redis.ping()).rejects.toMatchObject({ code: 'CLOSED' });
		expect(app.redis.status).toBe('end');
	});
});

it('a sidecar that goes away after the first answer takes nothing with it', async () => {
	await using services = await TempServices.make();
	await services.set(SERVICE, [{ host: server.host, port: server.port }]);
	await using place = await tempSocket();
	await using sidecar = await startSidecar(place.path, ['--backend', 'local', '--services', services.file]);
	await using diplomat = createDiplomat({ path: place.path });
	using app = redisOf(diplomat);
	await app.redis.ping();
	await sidecar.stop('SIGKILL');
	await waitFor('the loss to be seen', () => diplomat.status().state !== 'ready');
	app.redis.disconnect(true);
	expect(await app.redis.ping()).toBe('PONG');
});

describe('an instance that', () => {
	it('refuses: an error event that names it, and the next one', async () => {
		const refusing = { host: '127.0.0.1', port: await freePort() };
		await using diplomat = await diplomatTo(refusing, { host: server.host, port: server.port });
		using app = redisOf(diplomat);
		for (let turn = 0; turn < 4; turn++) {
			expect(await app.redis.ping()).toBe('PONG');
			app.redis.disconnect(true);
			await once(app.redis, 'close');
		}
		expect(app.errors[0]).toMatchObject({
			code: 'UNAVAILABLE',
			details: { service: SERVICE, instance: 'redis-0', port: refusing.port },
			cause: { code: 'ECONNREFUSED' },
		});
	});

	it.each(['plain', 'TLS'])('takes the connection and never answers (%s): the time-out counts', async (kind) => {
		const silent = await tcpListener();
		const port = kind === 'TLS' ? server.tlsPort : server.port;
		await using diplomat = await diplomatTo(silent, { host: server.host, port });
		const tls = kind === 'TLS' ? { tls: { ca: authority.ca } } : {};
		// Each alone: a Redis by itself goes to another instance after a failure.
		for (let turn = 0; turn < 20 && diplomat.status().ejected.length === 0; turn++) {
			using app = redisOf(diplomat, { connectTimeout: 500, ...tls });
			expect(await app.redis.ping()).toBe('PONG');
			if (app.errors.length > 0) {
				expect(app.errors[0]).toMatchObject({ code: 'UNAVAILABLE', details: { instance: 'redis-0' } });
			}
		}
		expect(diplomat.status().ejected).toMatchObject([{ instance: 'redis-0', failures: 5 }]);
		silent.close();
	});

	it('does not take the password: ioredis’ own error, and nothing counts against it', async () => {
		expect(await server.command('ACL SETUSER guest on >right ~* +@all')).toMatch(/^\+OK/);
		const { host, port } = server;
		await using diplomat = await diplomatTo({ host, port }, { host: 'localhost', port });
		for (let turn = 0; turn < 12; turn++) {
			using app = redisOf(diplomat, { username: 'guest', password: 'wrong' });
			const error = await app.redis.ping().catch((reason: unknown) => reason);
			expect(error).toMatchObject({ name: 'ReplyError', message: expect.stringMatching(/^WRONGPASS/) });
		}
		expect(diplomat.status().ejected).toEqual([]);
		using known = redisOf(diplomat, { username: 'guest', password: 'right' });
		expect(await known.redis.ping()).toBe('PONG');
	});

	it('is silent because nobody asks stays', async () => {
		await using diplomat = await diplomatTo(server);
		using app = redisOf(diplomat, { connectTimeout: 30, enableReadyCheck: false, disableClientInfo: true });
		await once(app.redis, 'ready');
		await new Promise((resolve) => setTimeout(resolve, 100));
		expect(await app.redis.ping()).toBe('PONG');
		expect(app.errors).toEqual([]);
	});
});

describe('TLS', () => {
	const to = (host: string): Promise<Diplomat> => diplomatTo({ host, port: server.tlsPort });

	it.each(['127.0.0.1', 'localhost'])('the certificate is checked against the instance’s host, %s', async (host) => {
		await using diplomat = await to(host);
		for (const tls of [{ ca: authority.ca }, { ca: authority.ca, servername: 'localhost' }]) {
			using app = redisOf(diplomat, { tls });
			expect(await app.redis.ping()).toBe('PONG');
		}
	});

	it.each([
		['of an unknown authority', { ca: stranger.ca }, {}, /certificate/],
		['for another name', { ca: authority.ca }, { servername: 'cache.example' }, /altnames/],
		['for another name, in tls', { ca: authority.ca, servername: 'cache.example' }, {}, /altnames/],
	])('a certificate %s: an error event that names the service', async (_what, tls, options, message) => {
		await using diplomat = await to('127.0.0.1');
		using app = redisOf(diplomat, { tls }, options);
		expect(await waitFor('an error', () => app.errors[0])).toMatchObject({
			code: 'UNAVAILABLE',
			details: { service: SERVICE, instance: 'redis-0' },
			cause: { message: expect.stringMatching(message) },
		});
	});

	it('a server without TLS: an error event that names the service', async () => {
		await using diplomat = await diplomatTo({ host: server.host, port: server.port });
		using app = redisOf(diplomat, { tls: {}, connectTimeout: 500 });
		expect(await waitFor('an error', () => app.errors[0])).toMatchObject({
			code: 'UNAVAILABLE',
			details: { service: SERVICE },
		});
	});
});

it('a host that is a name, or an IPv6 address, or no name at all', async () => {
	await using six = await startRedis({ binary: findRedis(process.env), host: '::1' });
	for (const place of [
		{ host: 'localhost', port: server.port },
		{ host: '::1', port: six.port },
	]) {
		await using diplomat = await diplomatTo(place);
		using app = redisOf(diplomat);
		expect(await app.redis.info('server')).toContain(`tcp_port:${place.port}`);
	}
	await using diplomat = await diplomatTo({ host: 'nobody.invalid', port: 6379 });
	using app = redisOf(diplomat);
	expect(await waitFor('an error', () => app.errors[0])).toMatchObject({
		code: 'UNAVAILABLE',
		details: { host: 'nobody.invalid' },
		cause: { code: expect.stringMatching(/ENOTFOUND|EAI_AGAIN/) },
	});
});

it('a Redis that is disconnected while it looks for an instance, or connects, stays disconnected', async () => {
	await using place = await tempSocket();
	await using away = createDiplomat({ path: place.path });
	const silent = await tcpListener();
	await using there = await diplomatTo(silent);
	for (const [diplomat, tls] of [
		[away, undefined],
		[there, {}],
	] as const) {
		const { redis, errors } = redisOf(diplomat, tls === undefined ? {} : { tls });
		await new Promise((resolve) => setImmediate(resolve));
		redis.disconnect();
		await waitFor('its end', () => redis.status === 'end');
		expect(errors.filter((error) => error.message !== 'Connection is closed.')).toEqual([]);
	}
	expect(there.status().ejected).toEqual([]);
	silent.close();
});
