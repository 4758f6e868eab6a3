import { mkdirSync, readdirSync, rmSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { keyQueryKey } from '@spock/protocol';
import { FakeClock, type TempSocket, tempSocket, waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { A, B, createSource, instance, recorder } from '../../test/fake-backend-source.ts';
import type { DiscoveryEvent } from '../foundation/discovery-event.ts';
import { instancesBody, keysBody } from './state-body.ts';
import { StateDirectory } from './state-directory.ts';
import { encodeStateFile, stateFileName } from './state-file.ts';
import { StateStore } from './state-store.ts';

const barista = { service: 'barista' };
const SCOPE = 'dc1';

function opened(place: TempSocket) {
	const stateDir = join(place.directory, 'state');
	const clock = new FakeClock();
	const events: DiscoveryEvent[] = [];
	const store = new StateStore({ stateDir, stateScope: SCOPE, clock, onEvent: (event) => events.push(event) });
	const written = () => events.filter((event) => event.type === 'state-write' && event.outcome === 'ok').length;
	const flushed = async (count: number): Promise<void> => {
		await clock.advance(1000);
		await waitFor(`${count} writes`, () => written() >= count);
		await waitFor('the end of the write', () => !readdirSync(stateDir).some((name) => name.endsWith('.tmp')));
	};
	return { stateDir, clock, events, store, written, flushed };
}

describe('a state directory', () => {
	it('whose file says that there is nothing has nothing: an empty answer is never served from disk', async () => {
		await using place = await tempSocket();
		const { stateDir, store, events } = opened(place);
		mkdirSync(stateDir);
		const put = (kind: 'instances' | 'keys', key: string, body: unknown): void =>
			writeFileSync(join(stateDir, stateFileName(kind, key)), encodeStateFile(SCOPE, kind, body).text);
		put('instances', 'barista', instancesBody(barista, { instances: [], verifiedAt: 5 }));
		const key = { key: 'app/', prefix: true } as const;
		put('keys', keyQueryKey(key), keysBody(key, { value: [], verifiedAt: 5 }));
		expect(await store.load(barista)).toBeUndefined();
		expect(await store.loadKeys(key)).toBeUndefined();
		// Both were read, and nothing was wrong with them.
		expect(events).toEqual([]);
		await store.close();
	});

	it('that cannot take one file takes those behind it', async () => {
		await using place = await tempSocket();
		const { stateDir, store, clock, written, events } = opened(place);
		mkdirSync(stateDir);
		const bad = Array.from({ length: 20 }, (_, number) => `bad-${number}`);
		// What is in its place cannot be replaced by a file.
		for (const service of bad)
			mkdirSync(join(stateDir, stateFileName('instances', service), 'full'), { recursive: true });
		for (const service of bad) store.keep({ service }, A, 5);
		store.keep(barista, B, 5);
		await waitFor('the file behind them', async () => {
			await clock.advance(5000);
			return written() > 0;
		});
		expect(await store.load(barista)).toMatchObject({ instances: B });
		const failures = events.filter((event) => event.type === 'state-write' && event.outcome === 'failed');
		expect(failures[0]).toMatchObject({ isNews: true });
		await store.close();
	});

	it('is written also where the backend cannot be closed', async () => {
		await using place = await tempSocket();
		const stateDir = join(place.directory, 'state');
		const { source, last } = createSource({ stateDir }, { close: () => Promise.reject(new Error('stuck')) });
		source.watch(barista, recorder());
		last().answered(A);
		await expect(source.close()).rejects.toThrow('stuck');
		expect(readdirSync(stateDir)).toContain(stateFileName('instances', 'barista'));
	});

	it('that takes nothing keeps no more waiting than it has files, and the newest of that', async () => {
		await using place = await tempSocket();
		const { stateDir, store, clock, written } = opened(place);
		// A file in the place of the directory.
		writeFileSync(stateDir, '');
		store.keep({ service: 'oldest' }, A, 5);
		for (let number = 0; number < 10_000; number++) store.keep({ service: `made-up-${number}` }, [], 5);
		store.keep(barista, B, 5);
		rmSync(stateDir);
		await waitFor('the write', async () => {
			await clock.advance(5000);
			return written() > 0;
		});
		await store.close();
		expect(readdirSync(stateDir)).toEqual([stateFileName('instances', 'barista')]);
	});

	it('of keys of which none is left has no file any more', async () => {
		await using place = await tempSocket();
		const { stateDir, store, clock, flushed } = opened(place);
		store.keepKeys({ key: 'app/limits' }, [{ key: 'app/limits', value: '5' }], 5);
		await flushed(1);
		expect(await store.loadKeys({ key: 'app/limits' })).toMatchObject({ value: [{ value: '5' }] });
		const name = stateFileName('keys', keyQueryKey({ key: 'app/limits' }));
		expect(readdirSync(stateDir)).toContain(name);
		store.keepKeys({ key: 'app/limits' }, [], 6);
		await waitFor('the file to go', async () => {
			// Due after a second, or a second after the write that is still running.
			await clock.advance(1000);
			return !readdirSync(stateDir).includes(name);
		});
		await store.close();
	});

	it('what changes while it is about to be written is written once, as it is then', async () => {
		await using place = await tempSocket();
		const { store, clock, written } = opened(place);
		store.keep(barista, A, 5);
		const flushing = clock.advance(1000);
		// The write has begun, and waits for its directory.
		store.keep(barista, B, 6);
		await flushing;
		await waitFor('the write', () => written() === 1);
		await clock.advance(2000);
		expect(await store.load(barista)).toMatchObject({ instances: B, verifiedAt: 6 });
		await store.close();
		expect(written()).toBe(1);
	});

	it('the times of verification are due from the first one on, however long the write before them takes', async () => {
		await using place = await tempSocket();
		const { stateDir, store, clock, written } = opened(place);
		store.keep(barista, A, 5);
		store.keep({ service: 'roaster' }, B, 5);
		await clock.advance(1000);
		// The write has begun, and half of the interval passes before the disk is done.
		store.keep(barista, A, 77);
		await clock.advance(15_000);
		await waitFor('both answers', () => written() >= 2);
		await waitFor('the next write to be planned', () => clock.pendingTimers > 0);
		await clock.advance(15_000);
		await waitFor('the times', () => readdirSync(stateDir).includes('verified.json'));
		await store.close();
	});

	it('closed, it writes nothing more, and is closed once', async () => {
		await using place = await tempSocket();
		const { stateDir, store, clock, written } = opened(place);
		store.keep(barista, A, 5);
		await store.close();
		expect(written()).toBe(1);
		store.keep(barista, B, 6);
		store.keep(barista, [], 7);
		await store.close();
		await clock.advance(60_000);
		expect([written(), clock.pendingTimers]).toEqual([1, 0]);
		expect(readdirSync(stateDir)).toEqual([stateFileName('instances', 'barista')]);
	});

	it('holds ten thousand questions and no more: the one written longest ago makes room', async () => {
		await using place = await tempSocket();
		const { stateDir, store, flushed } = opened(place);
		mkdirSync(stateDir);
		const others = Array.from({ length: 10_000 }, (_, number) => `other-${String(number).padStart(5, '0')}.json`);
		for (const name of others) writeFileSync(join(stateDir, name), '');
		store.keep(barista, A, 5);
		await flushed(1);
		const left = readdirSync(stateDir);
		expect(left).toHaveLength(10_000);
		expect(left).toContain(stateFileName('instances', 'barista'));
		await store.close();
	});

	it('a file that is longer than any of ours is refused and not read', async () => {
		await using place = await tempSocket();
		const { stateDir, store, events } = opened(place);
		mkdirSync(stateDir);
		const file = join(stateDir, stateFileName('instances', 'barista'));
		writeFileSync(file, '');
		truncateSync(file, 64 * 1024 * 1024 + 1);
		expect(await store.load(barista)).toBeUndefined();
		expect(events).toMatchObject([{ type: 'state-refused', file, refusal: 'foreign' }]);
		await store.close();
	});

	it('is read by many at once, although only some files are open together', async () => {
		await using place = await tempSocket();
		const { store, flushed } = opened(place);
		const queries = Array.from({ length: 60 }, (_, number) => ({ service: `service-${number}` }));
		for (const query of queries) store.keep(query, [instance(query.service)], 5);
		await flushed(60);
		const loaded = await Promise.all(queries.map((query) => store.load(query)));
		expect(loaded.map((kept) => kept?.instances[0]?.instance)).toEqual(queries.map(({ service }) => service));
		await store.close();
	});

	it('loses what a dead process left half written, and leaves what a living one is writing', async () => {
		await using place = await tempSocket();
		const [old, young] = ['.a.json.1.tmp', '.b.json.2.tmp'].map((name) => join(place.directory, name));
		for (const file of [old, young]) writeFileSync(file as string, 'half');
		const nowMs = Date.now();
		utimesSync(old as string, (nowMs - 120_000) / 1000, (nowMs - 120_000) / 1000);
		await new StateDirectory(place.directory).prepare(nowMs);
		expect(readdirSync(place.directory)).toEqual(['.b.json.2.tmp']);
	});
});
