import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import type { ServiceSnapshot } from '@spock/protocol';
import { FakeClock, tempSocket } from '@spock/testkit';
import { expect, it } from 'vitest';

import { instance } from '../../../test/fake-backend-source.ts';
import { BackendSource } from '../../backend-source.ts';
import { createReplayBackend, type ReplayBackendOptions } from './replay-backend.ts';

const HEADER = { record: 'spock', version: 1, startedAt: 1_000_000, sidecar: 'test', services: null };
const snapshot = (t: number, service: string, ports: readonly number[], more: object = {}) => ({
	type: 'snapshot',
	t,
	at: 1_000_000 + t,
	service,
	revision: 1,
	source: 'live',
	ageMs: 0,
	instances: ports.map((port) => instance(`i${port}`, port)),
	...more,
});
const mark = (t: number, type: string) => ({ type, t, at: 1_000_000 + t });

/** A source over the replay of these lines, and what a reader of barista is told. */
async function replay(lines: readonly object[], options: Omit<ReplayBackendOptions, 'file' | 'clock'> = {}) {
	const place = await tempSocket();
	const file = join(place.directory, 'record.ndjson');
	writeFileSync(file, `${[HEADER, ...lines].map((line) => JSON.stringify(line)).join('\n')}\n`);
	const clock = new FakeClock();
	const backend = await createReplayBackend({ file, clock, ...options });
	const source = new BackendSource({ backend, clock });
	const told: string[] = [];
	source.watch({ service: 'barista' }, { next: (one) => told.push(show(one)) });
	const close = async (): Promise<void> => {
		await source.close();
		await place[Symbol.asyncDispose]();
	};
	return { source, clock, told, [Symbol.asyncDispose]: close };
}

const show = ({ source, instances }: ServiceSnapshot): string => `${source} ${instances.map(({ port }) => port)}`;

const DAY: readonly object[] = [
	snapshot(5, 'barista', [80]),
	mark(10, 'begun'),
	snapshot(1010, 'barista', [80, 81]),
	snapshot(1010, 'till', [90]),
	mark(1500, 'gap'),
	snapshot(2010, 'barista', [80, 81], { source: 'last-known-good', ageMs: 900 }),
	snapshot(3010, 'barista', [81]),
	snapshot(4010, 'barista', []),
	mark(5010, 'end'),
];
const TOLD = ['live 80', 'live 80,81', 'last-known-good 80,81', 'live 81', 'live '];

it('tells what was recorded at its own pace, and keeps the end', async () => {
	await using replayed = await replay(DAY);
	const { clock, told, source } = replayed;
	expect(told).toEqual(TOLD.slice(0, 1));
	expect((await source.list()).services.map(({ name }) => name)).toEqual(['barista']);
	await clock.advance(999);
	expect(told).toEqual(TOLD.slice(0, 1));
	await clock.advance(1);
	expect(told).toEqual(TOLD.slice(0, 2));
	expect((await source.list()).services.map(({ name }) => name)).toEqual(['barista', 'till']);
	await clock.advance(1000);
	expect(told).toEqual(TOLD.slice(0, 3));
	await clock.advance(100_000);
	expect(told).toEqual(TOLD);
});

it('is as much faster as it is told to be', async () => {
	await using replayed = await replay(DAY, { speed: 10 });
	const { clock, told } = replayed;
	await clock.advance(99);
	expect(told).toHaveLength(1);
	await clock.advance(1);
	expect(told).toHaveLength(2);
	await clock.advance(300);
	expect(told).toEqual(TOLD);
});

it('at once: the end is what there is', async () => {
	await using replayed = await replay(DAY.slice(0, 7), { speed: 0 });
	expect(replayed.told).toEqual(['live 81']);
	expect((await replayed.source.list()).services.map(({ name }) => name)).toEqual(['barista', 'till']);
});

it('begins again, with what there was at the beginning', async () => {
	await using replayed = await replay(DAY, { loop: true });
	const { clock, told, source } = replayed;
	await clock.advance(5000 + 1000);
	expect(told).toEqual([...TOLD, 'live 80']);
	expect((await source.get({ service: 'till' })).instances).toEqual([]);
	await clock.advance(5000);
	expect(told).toEqual([...TOLD, ...TOLD]);
});

it('a watch that begins in an outage of the record is told the instances from before it', async () => {
	await using replayed = await replay([snapshot(5, 'barista', [80], { source: 'last-known-good' }), mark(10, 'begun')]);
	expect(replayed.told.at(-1)).toBe('last-known-good 80');
	expect(replayed.source.status()).toMatchObject({ name: 'replay', state: 'down' });
});

it.each<[string, string, string]>([
	['no record', '{"services":{}}\n', 'record.ndjson:1: the first line must have "record":"spock"'],
	['nothing', '', 'record.ndjson:1: it is empty'],
	['a later version', '{"record":"spock","version":2}\n', ':1: the recording has version 2'],
	['no JSON', `${JSON.stringify(HEADER)}\n{\n${JSON.stringify(mark(1, 'end'))}\n`, ':2: it is not JSON'],
	[
		'a bad list of instances',
		`${JSON.stringify(HEADER)}\n\n${JSON.stringify({ ...snapshot(1, 'a', []), instances: {} })}\n`,
		':3: instances',
	],
	['a bad source', `${JSON.stringify(HEADER)}\n${JSON.stringify(snapshot(1, 'a', [], { source: 'x' }))}`, ':2: source'],
	[
		'times that go back',
		[HEADER, mark(2, 'begun'), mark(1, 'end')].map((line) => JSON.stringify(line)).join('\n'),
		':3: t is less than in the previous line',
	],
])('%s is refused, with file and line', async (_what, text, message) => {
	await using place = await tempSocket();
	const file = join(place.directory, 'record.ndjson');
	writeFileSync(file, text);
	await expect(createReplayBackend({ file })).rejects.toThrow(message);
});

it('a bad instance of a record takes no good one away', async () => {
	await using replayed = await replay([snapshot(0, 'barista', [70_000, 80]), mark(1, 'begun')]);
	expect(replayed.told).toEqual(['live 80']);
	expect(await replayed.source.inspect({ service: 'barista' })).toMatchObject({ refusedCount: 1 });
});

it('a last line that was cut off is left out, and so is what a later version writes', async () => {
	await using place = await tempSocket();
	const file = join(place.directory, 'record.ndjson');
	const lines = [HEADER, snapshot(1, 'barista', [80]), { type: 'weather', t: 2 }].map((line) => JSON.stringify(line));
	writeFileSync(file, `${lines.join('\n')}\n{"type":"snap`);
	const backend = await createReplayBackend({ file, speed: 0 });
	expect((await backend.list({})).map(({ name }) => name)).toEqual(['barista']);
	await backend.close();
	await expect(createReplayBackend({ file, speed: -1 })).rejects.toThrow('speed');
	await expect(createReplayBackend({ file, speed: 0, loop: true })).rejects.toThrow('at once');
	await expect(createReplayBackend({ file: `${file}.no` })).rejects.toThrow('cannot be read: ENOENT');
});
