import { BackendSource } from '@spock/discovery';
import { KEY_VALUE_BYTES_MAX, type KeyEntry, type KeyQuery, SpockError } from '@spock/protocol';
import { createSidecar, type SidecarLimits } from '@spock/sidecar';
import { tempSocket, waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { FakeSource } from './fake-source.ts';
import { RawClient } from './raw-client.ts';

interface Watching {
	readonly query: KeyQuery;
	answered(entries: readonly KeyEntry[]): void;
	failed(error: SpockError): void;
}

/** A sidecar over a backend whose keys the test sets. */
async function run(limits: SidecarLimits = {}, firstAnswerMs = 5000) {
	const place = await tempSocket();
	const watching = new Set<Watching>();
	const values = new Map<string, string>();
	const pushed: string[] = [];
	let isHeld = false;
	const tell = (one: Watching): void => {
		if (isHeld) return;
		const { key, prefix } = one.query;
		const names = [...values.keys()].sort().filter((name) => (prefix ? name.startsWith(key) : name === key));
		one.answered(names.map((name) => ({ key: name, value: values.get(name) as string })));
	};
	const source = new BackendSource({
		firstAnswerMs,
		backend: {
			name: 'fake',
			watch: () => ({ stop: () => undefined }),
			watchKey: (query, observer) => {
				const one = { query, answered: observer.answered, failed: observer.failed };
				watching.add(one);
				tell(one);
				return { stop: () => void watching.delete(one) };
			},
			list: () => Promise.resolve([]),
			status: () => ({ name: 'fake', state: 'up', addresses: [], error: null, lastSuccessAgeMs: 0 }),
			close: () => Promise.resolve(),
		},
	});
	const sidecar = createSidecar({
		source,
		listen: [{ address: { path: place.path } }],
		limits: { graceMs: 0, ...limits },
		observer: { pushed: (kind) => pushed.push(kind) },
	});
	await sidecar.start();
	return {
		sidecar,
		watching,
		pushed,
		set: (key: string, value: string) => {
			values.set(key, value);
			for (const one of watching) tell(one);
		},
		hold: () => {
			isHeld = true;
		},
		fail: () => {
			for (const one of watching) one.failed(new SpockError('UNAVAILABLE', 'away'));
		},
		open: () => RawClient.open(place.path),
		[Symbol.asyncDispose]: async () => {
			sidecar.terminate();
			sidecar.terminate();
			await sidecar.ended;
			await place[Symbol.asyncDispose]();
		},
	};
}

const limits = { key: 'app/limits' };

describe('keys over the wire', () => {
	it('getKey and watchKey answer what is known; a change is pushed to who watches, and to nobody else', async () => {
		await using running = await run();
		running.set('app/limits', '5');
		await using watcher = await running.open();
		await using asker = await running.open();
		expect(await asker.ask(1, 'getKey', limits)).toMatchObject({
			id: 1,
			data: { ...limits, value: '5', source: 'live' },
		});
		expect(await watcher.ask(1, 'watchKey', limits)).toMatchObject({ id: 1, data: { value: '5', revision: 1 } });
		running.set('app/limits', '6');
		expect(await watcher.next()).toEqual({
			event: 'key',
			data: { ...limits, value: '6', revision: 2, source: 'live', ageMs: 0, verifiedAt: expect.any(Number) },
		});
		expect(await asker.ask(2, 'getKey', limits)).toMatchObject({ id: 2, data: { value: '6' } });
		expect(running.watching.size).toBe(1);
		expect(await watcher.ask(2, 'unwatchKey', limits)).toEqual({ id: 2, data: null });
		running.set('app/limits', '7');
		expect(await watcher.ask(3, 'getKey', limits)).toMatchObject({ id: 3, data: { value: '7' } });
	});

	it('a key and the prefix of the same text are two subscriptions', async () => {
		await using running = await run();
		running.set('app/a', '1');
		await using client = await running.open();
		await client.ask(1, 'watchKey', { key: 'app/', prefix: true });
		await client.ask(2, 'watchKey', { key: 'app/' });
		running.set('app/b', '2');
		expect(await client.next()).toMatchObject({
			event: 'key',
			data: {
				key: 'app/',
				prefix: true,
				entries: [
					{ key: 'app/a', value: '1' },
					{ key: 'app/b', value: '2' },
				],
			},
		});
		running.set('app/', 'folder');
		const events = [await client.next(), await client.next()].map(
			(frame) => (frame?.['data'] as KeyQuery | undefined)?.prefix ?? false,
		);
		expect(events.sort()).toEqual([false, true]);
		expect(running.sidecar.status()).toMatchObject({
			subscriptions: 2,
			keyWatches: [
				{ key: 'app/', prefix: true, entries: 3, readers: 1 },
				{ key: 'app/', entries: 1, readers: 1 },
			],
		});
	});

	it('an outage is pushed once, as last known, and told in status; no value stands there', async () => {
		await using running = await run();
		running.set('app/limits', 'hush');
		await using client = await running.open();
		await client.ask(1, 'watchKey', limits);
		running.fail();
		expect(await client.next()).toMatchObject({ event: 'key', data: { value: 'hush', source: 'last-known-good' } });
		expect(await client.ask(2, 'getKey', limits)).toMatchObject({ data: { value: 'hush', source: 'last-known-good' } });
		const status = await client.ask(3, 'status');
		expect(status).toMatchObject({ data: { keyWatches: [{ key: 'app/limits', state: 'stale', error: 'away' }] } });
		expect(JSON.stringify(status)).not.toContain('hush');
	});

	it('a client that does not read gets the newest value only', async () => {
		await using running = await run();
		const value = (number: number): string => String(number).padEnd(KEY_VALUE_BYTES_MAX, 'x');
		running.set('app/limits', value(0));
		await using client = await running.open();
		await client.ask(1, 'watchKey', limits);
		client.socket.pause();
		const count = 40;
		for (let number = 1; number <= count; number++) {
			running.set('app/limits', value(number));
			await new Promise((resolve) => setImmediate(resolve));
		}
		expect(running.pushed.filter((kind) => kind === 'superseded').length).toBeGreaterThan(count / 2);
		client.socket.resume();
		const seen: number[] = [];
		await waitFor('the newest', async () => {
			const frame = await client.next();
			seen.push(Number.parseInt((frame?.['data'] as { value: string } | undefined)?.value ?? 'none', 10));
			return seen.at(-1) === count;
		});
		expect(seen).toEqual([...seen].sort((left, right) => left - right));
		expect(seen.length).toBeLessThan(count / 2);
	});

	it('subscriptions are bounded, and end with their connection', async () => {
		await using running = await run({ subscriptionsMax: 2 });
		const client = await running.open();
		await client.ask(1, 'watchKey', { key: 'a' });
		await client.ask(2, 'watchKey', { key: 'b' });
		expect(await client.ask(3, 'watchKey', { key: 'c' })).toMatchObject({
			error: { code: 'OVERLOADED', details: { subscriptionsMax: 2 } },
		});
		await client[Symbol.asyncDispose]();
		await waitFor('their end', () => running.sidecar.gauges().subscriptions === 0);
		expect(running.sidecar.status().keyWatches.every(({ readers }) => readers === 0)).toBe(true);
	});

	it('before the first answer a question waits, and is NOT_READY at its end', async () => {
		await using running = await run({}, 20);
		running.hold();
		await using client = await running.open();
		expect(await client.ask(1, 'getKey', limits)).toMatchObject({
			id: 1,
			error: { code: 'NOT_READY', retryable: true },
		});
		expect(await client.ask(2, 'watchKey', limits)).toMatchObject({ id: 2, error: { code: 'NOT_READY' } });
	});

	it('a source without keys answers UNKNOWN_FUNC', async () => {
		const place = await tempSocket();
		const sidecar = createSidecar({ source: new FakeSource(), listen: [{ address: { path: place.path } }] });
		await sidecar.start();
		await using client = await RawClient.open(place.path);
		for (const func of ['getKey', 'watchKey', 'unwatchKey']) {
			expect(await client.ask(1, func, limits)).toMatchObject({
				error: { code: 'UNKNOWN_FUNC', details: { backend: 'fake' } },
			});
		}
		expect(sidecar.status().keyWatches).toEqual([]);
		sidecar.terminate();
		sidecar.terminate();
		await sidecar.ended;
		await place[Symbol.asyncDispose]();
	});
});
