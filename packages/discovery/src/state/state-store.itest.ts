import { chmod, mkdir, readdir, readFile, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { settle, waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { A, B, createSource, instance, query, recorder, refused } from '../../test/fake-backend-source.ts';
import {
	failure,
	flushed,
	learned,
	place,
	refusals,
	startedInOutage,
	writes,
	written,
} from '../../test/state-place.ts';
import { stateFileName } from './state-file.ts';

describe('what is kept in a state directory', () => {
	it('is served by the next process while the registry is out, with its true age; and replaced by its first answer', async () => {
		await using at = await place();
		const first = await learned(at);
		await first.source.close();
		const next = await startedInOutage(at, 60_000);
		const age = 60_000;
		expect(await next.read).toMatchObject({ instances: A, source: 'last-known-good', ageMs: age });
		expect(next.source.watches()).toMatchObject([{ state: 'stale', error: 'refused' }]);
		expect(next.events.filter(({ type }) => type === 'state-restored')).toMatchObject([
			{ what: 'barista', ageMs: age },
		]);
		const late = expect(next.source.get(query, { maxAgeMs: age - 1, timeoutMs: 10 })).rejects.toMatchObject({
			code: 'UNAVAILABLE',
			details: { ageMs: age + 10, maxAgeMs: age - 1 },
		});
		await next.clock.advance(10);
		await late;
		next.last().answered(B);
		expect(next.source.peek(query)).toMatchObject({ instances: B, source: 'live' });
		await next.source.close();
	});

	it('is replaced by what another process remembers only where that is newer', async () => {
		await using at = await place();
		await (await learned(at)).source.close();
		const next = createSource({ stateDir: at.stateDir, stateScope: 'dc1' });
		await next.clock.advance(60_000);
		const read = next.source.get(query);
		next.last().answered(B, { ageMs: 70_000, isUnconfirmed: true });
		expect(await read).toMatchObject({ instances: A, source: 'last-known-good', ageMs: 60_000 });
		next.last().failed(refused);
		next.last().answered(B, { ageMs: 90_000, vouchedAgeMs: 65_000, isUnconfirmed: true });
		expect(next.source.peek(query)).toMatchObject({ instances: A, ageMs: 60_000 });
		next.last().answered(B, { ageMs: 90_000, vouchedAgeMs: 50_000, isUnconfirmed: true });
		expect(next.source.peek(query)).toMatchObject({ instances: B, ageMs: 50_000 });
		await next.source.close();
	});

	it('is not looked at while the registry answers', async () => {
		await using at = await place();
		await (await learned(at)).source.close();
		const next = createSource({ stateDir: at.stateDir, stateScope: 'dc1' });
		const read = next.source.get(query);
		await settle();
		next.last().answered(B);
		expect(await read).toMatchObject({ instances: B, source: 'live', revision: 1 });
		await next.source.close();
	});

	it('is served when the registry says nothing at all for half a second', async () => {
		await using at = await place();
		await (await learned(at)).source.close();
		const next = createSource({ stateDir: at.stateDir, stateScope: 'dc1' });
		const read = next.source.get(query);
		// One is the tick of the age clock.
		await waitFor('the file to be read', () => next.clock.dueIn(500) === 2);
		await next.clock.advance(500);
		expect(await read).toMatchObject({ instances: A, source: 'last-known-good' });
		await next.source.close();
	});

	it('is held like any other when the registry comes back with nothing', async () => {
		await using at = await place();
		await (await learned(at)).source.close();
		const next = createSource({ stateDir: at.stateDir, stateScope: 'dc1' });
		next.source.watch(query, recorder());
		next.last().answered([]);
		await waitFor('the hold', () => next.source.peek(query)?.held === true);
		expect(next.source.peek(query)).toMatchObject({ instances: A, source: 'last-known-good' });
		await next.clock.advance(10_000);
		next.last().answered([]);
		expect(next.source.peek(query)).toMatchObject({ instances: [], source: 'live' });
		await next.source.close();
	});

	it('has the time of the last verification, not of the last change', async () => {
		await using at = await place();
		const first = await learned(at);
		await first.clock.advance(50_000);
		first.last().answered([instance('a')]);
		const verifiedAt = first.clock.wallNow();
		await first.source.close();
		const next = await startedInOutage(at, 200_000);
		expect(await next.read).toMatchObject({ verifiedAt });
		await next.source.close();
	});

	it('after a kill has a time that is at most the writing interval too old, and never too young', async () => {
		await using at = await place();
		const first = await learned(at);
		await first.clock.advance(10_000);
		first.last().answered([instance('a')]);
		const verifiedAt = first.clock.wallNow();
		await first.clock.advance(30_000);
		// Not the first write of any file, which may be the answer's own.
		await waitFor('the times', async () => {
			// They are due; where the write before them took longer than that, as soon as it has ended.
			await first.clock.advance(1);
			const names = await readdir(at.stateDir);
			if (!names.includes('verified.json')) return false;
			return (await readFile(`${at.stateDir}/verified.json`, 'utf8')).includes(String(verifiedAt));
		});
		first.last().answered([instance('a')]);
		const next = await startedInOutage(at, 200_000);
		expect(await next.read).toMatchObject({ verifiedAt });
		await next.source.close();
		await first.source.close();
	});

	it('goes when the service is gone', async () => {
		await using at = await place();
		const first = await learned(at, { emptyHoldMs: 0 });
		first.last().answered([]);
		await first.source.close();
		expect(await readdir(at.stateDir)).not.toContain(stateFileName('instances', 'barista'));
	});

	it('has as many bytes as it may, those of an earlier process included: what was written least recently goes', async () => {
		await using at = await place();
		const big = (name: string) => [{ ...instance(name), meta: { text: 'x'.repeat(3000) } }];
		const served = async (stateBytesMax: number, names: readonly string[]): Promise<string[]> => {
			const created = createSource({ stateDir: at.stateDir, stateScope: 'dc1', stateBytesMax });
			for (const name of names) {
				created.source.watch({ service: name }, recorder());
				created.last().answered(big(name));
				await flushed(created);
			}
			await created.source.close();
			const files = await readdir(at.stateDir);
			return ['a', 'b', 'c', 'd'].filter((name) => files.includes(stateFileName('instances', name)));
		};
		expect(await served(10_000, ['a', 'b'])).toEqual(['a', 'b']);
		expect(await served(10_000, ['c', 'd'])).toHaveLength(2);
		expect(await served(10_000, ['d'])).toContain('d');
		// Longer than all that may be there: it is written, and nothing else stays.
		expect(await served(1000, ['a'])).toEqual(['a']);
	});

	it('is read only by its user, holds no half-written file, and is written once for many changes', async () => {
		await using at = await place();
		const first = await learned(at);
		const count = writes(first).length;
		for (let port = 1; port <= 50; port++) {
			first.last().answered([instance('a', port)]);
			await first.clock.advance(10);
		}
		await flushed(first);
		expect(writes(first).length).toBe(count + 1);
		expect((await stat(at.stateDir)).mode & 0o777).toBe(0o700);
		expect((await stat(at.file())).mode & 0o777).toBe(0o600);
		expect((await readdir(at.stateDir)).filter((name) => name.endsWith('.tmp'))).toEqual([]);
		expect(await readFile(at.file(), 'utf8')).toContain('"port":50');
		await first.source.close();
	});

	it('is written once a second, and not never, while it changes all the time', async () => {
		await using at = await place();
		const first = await learned(at);
		const count = writes(first).length;
		for (let port = 1; port <= 15; port++) {
			first.last().answered([instance('a', port)]);
			await first.clock.advance(100);
		}
		await written(first, count);
		await first.source.close();
	});

	it('includes the list of services', async () => {
		await using at = await place();
		const services = [{ name: 'barista', tags: ['v1'] }];
		const first = createSource({ stateDir: at.stateDir });
		first.backend.list = async () => services;
		await first.source.list();
		await first.source.close();
		const next = createSource({ stateDir: at.stateDir });
		await next.clock.advance(5000);
		next.backend.list = () => Promise.reject(refused);
		expect(await next.source.list()).toMatchObject({ services, source: 'last-known-good', ageMs: 5000 });
		await expect(next.source.list({ datacenter: 'dc2' }, { timeoutMs: 1 })).rejects.toBe(refused);
		await next.source.close();
	});
});

describe('a file that cannot be used is ignored loudly', () => {
	const spoiled: [what: string, refusal: string, spoil: (file: string) => Promise<void>][] = [
		['cut off in the middle', 'torn', async (file) => writeFile(file, (await readFile(file)).subarray(0, 200))],
		['empty', 'torn', (file) => writeFile(file, '')],
		['full of zeros', 'foreign', async (file) => writeFile(file, Buffer.alloc((await stat(file)).size))],
		['of another program', 'foreign', (file) => writeFile(file, '{"barista":[]}\n')],
		[
			'of an older version',
			'version',
			async (file) => writeFile(file, (await readFile(file, 'utf8')).replace('"version":1', '"version":0')),
		],
		[
			'with one byte changed',
			'torn',
			async (file) => writeFile(file, (await readFile(file, 'utf8')).replace('10.0.0.1', '10.0.0.2')),
		],
		[
			'a link to somewhere',
			'foreign',
			async (file) => {
				await rm(file);
				await symlink('/etc/hostname', file);
			},
		],
		[
			'a directory',
			'foreign',
			async (file) => {
				await rm(file);
				await mkdir(file);
			},
		],
	];

	it.each(spoiled)('%s: %s', async (_what, refusal, spoil) => {
		await using at = await place();
		await (await learned(at)).source.close();
		await spoil(at.file());
		const next = await startedInOutage(at, 1000);
		expect(await failure(next, next.read)).toBe(refused);
		expect(refusals(next)).toEqual([refusal]);
		await next.source.close();
	});

	it('another datacenter: scope; told once; and written over by the next good answer', async () => {
		await using at = await place();
		await (await learned(at)).source.close();
		const other = await startedInOutage(at, 1000, { stateScope: 'dc2', idleTtlMs: 1000 });
		expect(await failure(other, other.read)).toBe(refused);
		await other.clock.advance(5000);
		const again = other.source.get(query, { timeoutMs: 60_000 });
		other.last().failed(refused);
		expect(await failure(other, again)).toBe(refused);
		other.source.watch(query, recorder());
		expect(refusals(other)).toEqual(['scope']);
		other.last().answered(B);
		await flushed(other);
		await other.source.close();
		const next = await startedInOutage(at, 1000, { stateScope: 'dc2' });
		expect(await next.read).toMatchObject({ instances: B });
		await next.source.close();
	});
});

describe('a directory that cannot be used', () => {
	it('changes nothing for lookups, is told once, and is tried again until it works', async () => {
		await using at = await place();
		await writeFile(at.stateDir, 'a file in the way');
		const one = createSource({ stateDir: at.stateDir });
		one.source.watch(query, recorder());
		one.last().answered(A);
		expect(one.source.peek(query)?.instances).toBe(A);
		await flushed(one);
		const failures = () => writes(one).filter((event) => event.type === 'state-write' && event.outcome === 'failed');
		expect(failures()).toMatchObject([{ isNews: true }]);
		await one.clock.advance(5000);
		await waitFor('the second try', () => failures().length === 2);
		expect(failures()).toMatchObject([{ isNews: true }, { isNews: false }]);
		await settle();
		await rm(at.stateDir);
		await one.clock.advance(5000);
		await waitFor('the write', () =>
			writes(one).some((event) => event.type === 'state-write' && event.outcome === 'ok'),
		);
		await one.source.close();
		const next = await startedInOutage(at, 0);
		expect(await failure(next, next.read)).toBe(refused);
		expect(refusals(next)).toEqual(['scope']);
		await next.source.close();
	});

	it('is made with those above it; one that cannot be made is told, and not tried without end', async () => {
		await using at = await place();
		const deep = join(at.stateDir, 'a', 'b');
		const one = createSource({ stateDir: deep });
		one.source.watch(query, recorder());
		one.last().answered(A);
		await flushed(one);
		expect((await stat(deep)).mode & 0o777).toBe(0o700);
		await one.source.close();
		const nowhere = createSource({ stateDir: '/proc/no/such' });
		nowhere.source.watch(query, recorder());
		nowhere.last().answered(A);
		await flushed(nowhere);
		expect(writes(nowhere)).toMatchObject([{ outcome: 'failed', error: { code: 'ENOENT' } }]);
		await nowhere.source.close();
	});

	it('that others may enter keeps its files private; what a dead process left half written goes', async () => {
		await using at = await place();
		const first = await learned(at);
		await first.source.close();
		await chmod(at.stateDir, 0o777);
		const left = join(at.stateDir, '.instances-x.json.123.tmp');
		await writeFile(left, 'half');
		await utimes(left, new Date(0), new Date(0));
		const next = createSource({ stateDir: at.stateDir, stateScope: 'dc1' });
		next.source.watch(query, recorder());
		await settle();
		next.last().answered(B);
		await flushed(next);
		expect((await stat(at.file())).mode & 0o777).toBe(0o600);
		expect(await readdir(at.stateDir)).not.toContain('.instances-x.json.123.tmp');
		await next.source.close();
	});
});
