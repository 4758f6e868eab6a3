import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

import { type ServiceSnapshot, type SnapshotObserver, SpockError } from '@spock/protocol';
import { FakeClock, tempSocket } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { instance } from '../../../test/fake-backend-source.ts';
import { readRecording } from './read-recording.ts';
import { RecordWriter } from './record-writer.ts';
import { type RecordedSource, ServiceRecorder } from './service-recorder.ts';

const header = { sidecar: 'spock/1', services: null };
const snapshotOf = (service: string, more: Partial<ServiceSnapshot> = {}): ServiceSnapshot => ({
	...{ service, revision: 1, source: 'live', ageMs: 0.4, verifiedAt: 0, instances: [instance('a')] },
	...more,
});
const linesOf = (file: string): unknown[] =>
	readFileSync(file, 'utf8')
		.trim()
		.split('\n')
		.map((line) => JSON.parse(line) as unknown);

async function opened(bytesMax = 100_000) {
	const place = await tempSocket();
	const file = join(place.directory, 'record.ndjson');
	const failures: string[] = [];
	const clock = new FakeClock();
	const writer = new RecordWriter({ file, header, bytesMax, clock, failed: ({ message }) => failures.push(message) });
	return { file, failures, clock, writer, [Symbol.asyncDispose]: () => place[Symbol.asyncDispose]() };
}

describe('a recording', () => {
	it('is what its reader reads: snapshots with what marks them, gaps and the end, with their times', async () => {
		await using record = await opened();
		const { writer, clock, file, failures } = record;
		writer.snapshot(snapshotOf('barista'));
		writer.mark('begun');
		await clock.advance(1500);
		writer.mark('gap', 'the sidecar is gone');
		writer.snapshot(snapshotOf('barista', { source: 'last-known-good', held: true, panic: true, oversize: true }));
		expect(writer.lines).toBe(4);
		expect(writer.bytes).toBe(statSync(file).size);
		writer.end('stopped');
		writer.end('again');
		writer.mark('back');
		expect(failures).toEqual([]);
		expect(statSync(file).mode & 0o777).toBe(0o600);
		const read = await readRecording(file);
		expect(linesOf(file).slice(1)).toEqual(read.lines.map((line) => JSON.parse(JSON.stringify(line)) as unknown));
		expect(linesOf(file)).toMatchObject([
			{ record: 'spock', version: 1, sidecar: 'spock/1', services: null },
			{ type: 'snapshot', t: 0, service: 'barista', ageMs: 0 },
			{ type: 'begun', t: 0 },
			{ type: 'gap', t: 1500, reason: 'the sidecar is gone' },
			{ type: 'snapshot', held: true, panic: true, oversize: true },
			{ type: 'end', reason: 'stopped' },
		]);
	});

	it('is never written over, and leaves nothing when it is discarded', async () => {
		await using record = await opened();
		const { file, writer } = record;
		const again = (): unknown => new RecordWriter({ file, header, bytesMax: 1000, failed: () => undefined });
		expect(again).toThrow('it already exists; name a new file');
		writer.discard();
		writer.discard();
		expect(() => statSync(file)).toThrow('ENOENT');
		const nowhere = { file: join(file, 'deeper'), header, bytesMax: 1000, failed: () => undefined };
		expect(() => new RecordWriter(nowhere)).toThrow('cannot be created: ENOENT');
	});

	it('ends, with the reason as its last line, when it is full', async () => {
		await using record = await opened(700);
		const { writer, file, failures } = record;
		for (let revision = 1; revision < 9; revision++) writer.snapshot(snapshotOf('barista', { revision }));
		expect(failures).toEqual([`the recording ${file} is full: 700 bytes (--max-bytes)`]);
		expect(linesOf(file).at(-1)).toMatchObject({ type: 'end', reason: 'full' });
		expect(statSync(file).size).toBeLessThanOrEqual(700);
	});
});

describe('a recorder', () => {
	const refused = (retryable: boolean) => new SpockError(retryable ? 'UNAVAILABLE' : 'ACL_DENIED', 'no', { retryable });

	async function recorder(names: readonly string[]) {
		const record = await opened();
		const observers = new Map<string, SnapshotObserver>();
		const failures: string[] = [];
		const state = { isConnected: true };
		const source: RecordedSource = {
			isConnected: () => state.isConnected,
			list: async () => ({
				...{ services: names.map((name) => ({ name, tags: [] })), source: 'live', ageMs: 0, verifiedAt: 0 },
			}),
			watch: ({ service }, observer) => {
				observers.set(service, observer);
				return { stop: () => undefined };
			},
		};
		const subject = new ServiceRecorder(source, record.writer, ({ code }) => failures.push(code));
		return { ...record, subject, observers, state, failures };
	}

	it('follows every service there is once, and counts those that have no answer yet', async () => {
		await using here = await recorder(['a', 'b']);
		const looked = here.subject.look(undefined);
		await Promise.resolve();
		await new Promise<void>((resolve) => setImmediate(resolve));
		here.observers.get('a')?.next(snapshotOf('a'));
		here.observers.get('b')?.error?.(refused(true));
		expect(await looked).toBe(1);
		here.observers.get('b')?.next(snapshotOf('b'));
		here.observers.get('a')?.error?.(refused(false));
		expect([here.writer.lines, here.failures]).toEqual([2, ['ACL_DENIED']]);
		here.observers.clear();
		expect(await here.subject.look(undefined)).toBe(0);
		expect(here.observers.size).toBe(0);
	});

	it('records nothing from before while it is not connected, and rejects with what waiting does not change', async () => {
		await using here = await recorder([]);
		here.state.isConnected = false;
		const looked = here.subject.look(['a', 'b']);
		here.observers.get('a')?.next(snapshotOf('a'));
		here.observers.get('b')?.error?.(refused(false));
		await expect(looked).rejects.toMatchObject({ code: 'ACL_DENIED' });
		expect(here.writer.lines).toBe(0);
	});

	it('follows no more services than one connection may subscribe to', async () => {
		const names = Array.from({ length: 4100 }, (_, number) => `s${number}`);
		await using here = await recorder(names);
		here.state.isConnected = false;
		const looked = here.subject.look(names);
		while (here.observers.size < 4096) {
			for (const [service, { next }] of here.observers) next(snapshotOf(service));
			await new Promise<void>((resolve) => setImmediate(resolve));
		}
		for (const [service, { next }] of here.observers) next(snapshotOf(service));
		expect([await looked, here.observers.size]).toEqual([4, 4096]);
	});
});
