import { createDiplomat, type Diplomat } from '@spock/client';
import { localSource } from '@spock/discovery';
import { SteadyCalls, startSidecar, TempServices, tempSocket, waitFor } from '@spock/testkit';
import { findRedis, type RealRedis, startRedis } from '@spock/testkit/real-databases';
import { Redis, type RedisOptions } from 'ioredis';
import { Redis as Redis5 } from 'ioredis-5';
import { describe, expect, it } from 'vitest';

import { type SpockRedisOptions, spockRedis } from './index.ts';

/** How replies are shown is a matter of the type of a Redis. */
type Options = Omit<RedisOptions, 'replyMapping'>;

const SERVICE = 'cache';
const binary = findRedis(process.env);

async function say(services: TempServices, primary: RealRedis, replica?: RealRedis): Promise<void> {
	const instance = (server: RealRedis, role: string) => ({
		id: `redis-${server.port}`,
		host: server.host,
		port: server.port,
		tags: [role],
	});
	await services.set(SERVICE, [
		instance(primary, 'primary'),
		...(replica === undefined ? [] : [instance(replica, 'replica')]),
	]);
}

interface TwoPrimaries {
	readonly left: RealRedis;
	readonly right: RealRedis;
	readonly diplomat: Diplomat;
	/** The registry moves to the right one. */
	move(): Promise<void>;
}

/** Two servers that both serve, of which the registry has the left one. */
async function betweenTwo(test: (place: TwoPrimaries) => Promise<void>): Promise<void> {
	await using services = await TempServices.make();
	await using left = await startRedis({ binary });
	await using right = await startRedis({ binary });
	await say(services, left);
	await using diplomat = createDiplomat({ source: await localSource({ file: services.file, pollMs: 50 }) });
	await test({ left, right, diplomat, move: () => say(services, right) });
}

const versions = [
	['ioredis 6', Redis],
	['ioredis 5', Redis5 as unknown as typeof Redis],
] as const;

describe.each(versions)('a fail-over of Redis, %s', (version, RedisClass) => {
	function redisOf(options: Omit<SpockRedisOptions, 'service'>, more: Options = {}) {
		const redis = new RedisClass({ ...spockRedis({ service: SERVICE, ...options }), ...more });
		const errors: Error[] = [];
		redis.on('error', (error) => errors.push(error));
		return { redis, errors };
	}

	const portOf = async (redis: Redis): Promise<number> =>
		Number(/tcp_port:(\d+)/.exec(await redis.info('server'))?.[1]);

	it('the primary crashes, the replica is promoted, the registry moves: commands go on at the new primary', async () => {
		await using services = await TempServices.make();
		await using primary = await startRedis({ binary });
		await using replica = await startRedis({ binary, replicaOf: primary });
		await say(services, primary, replica);
		await using diplomat = createDiplomat({ source: await localSource({ file: services.file, pollMs: 50 }) });
		const writer = redisOf({ diplomat, tags: ['primary'] }, { maxRetriesPerRequest: 1 });
		const reader = redisOf({ diplomat, tags: ['replica'] });
		expect([await portOf(writer.redis), await portOf(reader.redis)]).toEqual([primary.port, replica.port]);

		await using load = new SteadyCalls(() => writer.redis.incr('orders'), { callers: 4 });
		await waitFor('a working app', () => load.calls.length > 20);
		const killedMs = performance.now();
		await primary.kill();
		await waitFor('failing commands', () => load.failed.length > 0);
		await replica.promote();
		await say(services, replica);
		const movedMs = performance.now();
		const first = await waitFor('the new primary', () =>
			load.calls.find((call) => call.startedMs > movedMs && 'value' in call),
		);
		const failed = load.failed.length;
		const done = load.calls.length;
		await waitFor('a working app', () => load.calls.length > done + 50);
		await load.stop();
		expect(load.failed).toHaveLength(failed);
		expect(await portOf(writer.redis)).toBe(replica.port);
		expect(writer.errors).toContainEqual(
			expect.objectContaining({ code: 'UNAVAILABLE', details: expect.objectContaining({ service: SERVICE }) }),
		);
		const after = (ms: number): string => (first.endedMs - ms).toFixed(0);
		process.stdout.write(
			`${version} crash: ${failed} of ${load.calls.length} commands failed; first answer of the new primary ` +
				`${after(killedMs)} ms after the crash, ${after(movedMs)} ms after the registry moved\n`,
		);
		writer.redis.disconnect();
		reader.redis.disconnect();
	});

	it('the registry moves while both serve, through a sidecar: no command fails, none is sent twice', async () => {
		await using services = await TempServices.make();
		await using left = await startRedis({ binary });
		await using right = await startRedis({ binary });
		await say(services, left);
		await using place = await tempSocket();
		await using _sidecar = await startSidecar(place.path, ['--backend', 'local', '--services', services.file]);
		await using diplomat = createDiplomat({ path: place.path });
		const { redis, errors } = redisOf({ diplomat, tags: ['primary'] });
		await using load = new SteadyCalls(() => redis.incr('orders'), { callers: 4 });
		await waitFor('a working app', () => load.calls.length > 20);
		const movedMs = performance.now();
		await say(services, right);
		await waitFor('the new primary', async () => (await portOf(redis)) === right.port);
		const tookMs = performance.now() - movedMs;
		await waitFor('a working app', () => load.calls.filter((call) => call.startedMs > movedMs + tookMs).length > 20);
		await load.stop();
		expect(load.failed).toEqual([]);
		expect(errors).toEqual([]);
		const counts = await Promise.all(
			[left, right].map(async (one) => /\r\n(\d+)\r\n/.exec(await one.command('GET orders'))?.[1]),
		);
		expect(Number(counts[0]) + Number(counts[1])).toBe(load.calls.length);
		process.stdout.write(
			`${version} switch-over: 0 of ${load.calls.length} commands failed, none was sent twice; at the new primary ` +
				`${tookMs.toFixed(0)} ms after the registry moved\n`,
		);
		redis.disconnect();
	});

	it('a server that is no longer the primary, whatever the registry says, is left with `role`', async () => {
		await using services = await TempServices.make();
		await using primary = await startRedis({ binary });
		await using replica = await startRedis({ binary, replicaOf: primary });
		await say(services, replica);
		await using diplomat = createDiplomat({ source: await localSource({ file: services.file, pollMs: 50 }) });
		const { redis } = redisOf({ diplomat, tags: ['primary'], role: 'master' });
		const done = redis.set('order', '1');
		await new Promise((resolve) => redis.once('reconnecting', resolve));
		await say(services, primary);
		expect(await done).toBe('OK');
		redis.disconnect();
	});

	it('a demoted primary answers READONLY: with `reconnectOnError` the command is sent again until the new one has it', async () => {
		await using services = await TempServices.make();
		await using left = await startRedis({ binary });
		await using right = await startRedis({ binary, replicaOf: left });
		await say(services, left, right);
		await using diplomat = createDiplomat({ source: await localSource({ file: services.file, pollMs: 50 }) });
		const refused: string[] = [];
		const reconnectOnError = (error: Error): 2 | false => {
			refused.push(error.message);
			return error.message.startsWith('READONLY') ? 2 : false;
		};
		const { redis, errors } = redisOf({ diplomat, tags: ['primary'] }, { reconnectOnError });
		expect(await portOf(redis)).toBe(left.port);
		await right.promote();
		await left.command(`REPLICAOF ${right.host} ${right.port}`);
		const counted = redis.incr('orders');
		// The registry does not know yet: it comes back to the one that was demoted.
		await waitFor('refusals', () => refused.length > 1);
		await say(services, right, left);
		expect(await counted).toBe(1);
		expect(await portOf(redis)).toBe(right.port);
		expect(refused.every((message) => message.startsWith('READONLY'))).toBe(true);
		// It may be connecting to the demoted one just when the registry takes that out.
		expect(errors.filter(({ message }) => !message.includes('has left the service'))).toEqual([]);
		redis.disconnect();
	});

	it('a blocking command goes on at the new primary, and a duplicate finds it by itself', () =>
		betweenTwo(async ({ left, right, diplomat, move }) => {
			const { redis } = redisOf({ diplomat, tags: ['primary'] });
			const other = redis.duplicate();
			expect(await portOf(other)).toBe(left.port);
			const taken = redis.blpop('jobs', 0);
			await waitFor('the wait', async () => (await left.command('INFO clients')).includes('blocked_clients:1'));
			await move();
			await waitFor('the wait at the new one', async () =>
				(await right.command('INFO clients')).includes('blocked_clients:1'),
			);
			expect(await portOf(other)).toBe(right.port);
			await right.command('RPUSH jobs one');
			expect(await taken).toEqual(['jobs', 'one']);
			redis.disconnect();
			other.disconnect();
		}));

	it('a subscription goes on at the new primary', () =>
		betweenTwo(async ({ right, diplomat, move }) => {
			const { redis } = redisOf({ diplomat, tags: ['primary'] });
			await redis.subscribe('orders');
			const heard = new Promise((resolve) => redis.once('message', (_channel, text) => resolve(text)));
			await move();
			await waitFor('the subscription', async () => (await right.command('PUBLISH orders hello')).startsWith(':1'));
			expect(await heard).toBe('hello');
			redis.disconnect();
		}));
});
