import { type ServiceInstance, type ServiceSnapshot, SNAPSHOT_BYTES_MAX, SpockError } from '@spock/protocol';
import { fakeInstance } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { PartedAnswer } from './answer.ts';
import type { SnapshotPush } from './snapshot-delta.ts';
import { partsOf } from './snapshot-parts.ts';
import { type SnapshotReading, snapshotAnswer, snapshotPush } from './snapshot-text.ts';

const PLAIN: SnapshotReading = { frameBytesMax: 1024 * 1024, deltas: false, parts: false, lists: false };
const BOTH: SnapshotReading = { ...PLAIN, deltas: true, parts: true };
const SHORT: SnapshotReading = { ...BOTH, frameBytesMax: 1024 };

function snapshotOf(revision: number, instances: readonly ServiceInstance[]): ServiceSnapshot {
	return { service: 'barista', revision, instances, source: 'live', ageMs: 0, verifiedAt: 1_767_225_600_000 };
}

/** Some instances, sorted by name. */
function crowd(count: number): ServiceInstance[] {
	const meta = { version: '2026.11.3', rack: 'b7' };
	return Array.from({ length: count }, (_, index) => {
		const number = String(index).padStart(5, '0');
		return fakeInstance(`node-${number}/barista-${number}`, { host: `10.0.${index >> 8}.${index & 255}`, meta });
	});
}

function changedAt(instances: readonly ServiceInstance[], index: number): ServiceInstance[] {
	return instances.map((one, place) => (place === index ? { ...one, status: 'critical' } : { ...one }));
}

function pushed(snapshot: ServiceSnapshot, reading: SnapshotReading, base?: ServiceSnapshot): SnapshotPush {
	const push = snapshotPush('service', snapshot, reading, base);
	if (push instanceof SpockError) throw push;
	return push;
}

const dataIn = ({ lines }: SnapshotPush): Record<string, unknown> => JSON.parse(lines.at(-1) as string).data;

describe('the push of a snapshot', () => {
	const before = snapshotOf(1, crowd(1500));

	it('has what has changed, for a client that has the one before: one change of 1,500 takes less than 600 bytes', () => {
		const after = snapshotOf(2, changedAt(before.instances, 700));
		const push = pushed(after, BOTH, before);
		expect(push).toMatchObject({ form: 'delta', lines: { length: 1 } });
		expect(push.bytes).toBe(Buffer.byteLength(push.lines[0] as string));
		expect(push.bytes).toBeLessThan(600);
		const { instances: _, ...state } = after;
		expect(dataIn(push)).toEqual({ ...state, base: 1, changed: [after.instances[700]], gone: [] });
	});

	it('is serialised once for all connections with the same base', () => {
		const after = snapshotOf(2, changedAt(before.instances, 0));
		const sameBase = { ...before, ageMs: 5 };
		expect(pushed(after, BOTH, before)).toBe(pushed(after, BOTH, sameBase));
		expect(pushed(after, PLAIN)).toBe(pushed(after, { ...BOTH, parts: false }));
	});

	it('names its own base, also where another one has the same instances', () => {
		const after = snapshotOf(3, changedAt(before.instances, 0));
		expect(dataIn(pushed(after, BOTH, before))['base']).toBe(1);
		expect(dataIn(pushed(after, BOTH, { ...before, revision: 2 }))['base']).toBe(2);
		expect(dataIn(pushed(after, BOTH, before))['base']).toBe(1);
	});

	it('is whole for a client that does not know deltas, or has no base', () => {
		const after = snapshotOf(2, changedAt(before.instances, 1));
		expect(pushed(after, PLAIN, before).form).toBe('whole');
		expect(pushed(after, BOTH).form).toBe('whole');
	});

	it('is whole where that is shorter', () => {
		expect(pushed(snapshotOf(2, []), BOTH, before).form).toBe('whole');
		expect(
			pushed(
				snapshotOf(
					2,
					before.instances.map((one) => ({ ...one, weight: 2 })),
				),
				BOTH,
				before,
			).form,
		).toBe('whole');
		const one = snapshotOf(1, crowd(1));
		expect(pushed(snapshotOf(2, changedAt(one.instances, 0)), BOTH, one).form).toBe('whole');
	});

	it.each<[string, readonly string[], readonly string[]]>([
		['is not sorted', ['b', 'a', 'c', 'd', 'e'], ['b', 'a', 'c', 'd', 'f']],
		['has a name twice', ['a', 'a', 'b', 'c', 'd'], ['a', 'b', 'c', 'd', 'e']],
		['has an empty name', ['', 'a', 'b', 'c', 'd'], ['', 'a', 'b', 'c', 'e']],
		['is not sorted any more', ['a', 'b', 'c', 'd', 'e'], ['b', 'a', 'c', 'd', 'e']],
	])('is whole where a list %s: a delta would not be exact', (_, names, others) => {
		const listOf = (all: readonly string[]) => all.map((name) => fakeInstance(name, { host: '10.0.0.1' }));
		expect(pushed(snapshotOf(2, listOf(others)), BOTH, snapshotOf(1, listOf(names))).form).toBe('whole');
	});
});

describe('a snapshot that is longer than a frame', () => {
	const instances = crowd(40);
	const snapshot = snapshotOf(1, instances);

	it('is FRAME_TOO_LARGE for a client that does not know parts', () => {
		const refusal = snapshotPush('service', snapshot, { ...SHORT, parts: false });
		expect(refusal).toMatchObject({ code: 'FRAME_TOO_LARGE', details: { frameBytesMax: 1024 } });
	});

	it('comes in parts, each of which fits, and the last frame has no instances', () => {
		const { form, lines, bytes } = pushed(snapshot, SHORT);
		expect(form).toBe('parts');
		expect(lines.every((line) => Buffer.byteLength(line) - 1 <= 1024)).toBe(true);
		expect(bytes).toBe(lines.reduce((sum, line) => sum + Buffer.byteLength(line), 0));
		const frames = lines.map((line) => JSON.parse(line));
		const last = frames.pop();
		expect(frames.map(({ event, data }) => [event, data.of, data.index])).toEqual(
			frames.map((_, index) => ['part', last.data.parts.of, index]),
		);
		expect(frames.flatMap(({ data }) => data.instances)).toEqual(instances);
		const { instances: _, ...state } = snapshot;
		expect(last).toEqual({
			event: 'service',
			data: { ...state, parts: { of: last.data.parts.of, count: frames.length } },
		});
	});

	it('is split once for all connections with frames of this length, and another list has another number', () => {
		expect(pushed(snapshot, SHORT)).toBe(pushed(snapshot, { ...SHORT }));
		const other = dataIn(pushed(snapshotOf(2, [...instances]), SHORT))['parts'] as { of: number };
		expect(other.of).not.toBe((dataIn(pushed(snapshot, SHORT))['parts'] as { of: number }).of);
	});

	it('is answered in parts too', () => {
		const answered = snapshotAnswer(snapshot, SHORT);
		expect(answered).toBeInstanceOf(PartedAnswer);
		expect((answered as PartedAnswer).lines).toEqual(pushed(snapshot, SHORT).lines.slice(0, -1));
		expect(typeof snapshotAnswer(snapshot, BOTH)).toBe('string');
	});

	it('is FRAME_TOO_LARGE where one of its instances does not fit', () => {
		const long = [...instances, fakeInstance('z', { host: '10.0.0.1', tags: ['x'.repeat(1024)] })];
		expect(snapshotPush('service', snapshotOf(1, long), SHORT)).toMatchObject({ code: 'FRAME_TOO_LARGE' });
	});

	it('is not split where a client need not keep so much', () => {
		const tags = ['x'.repeat(1_000_000)];
		const many = Array.from({ length: Math.ceil(SNAPSHOT_BYTES_MAX / 1_000_000) + 1 }, (_, index) =>
			fakeInstance(String(1000 + index), { host: '10.0.0.1', tags }),
		);
		expect(partsOf(snapshotOf(1, many), BOTH.frameBytesMax)).toBeUndefined();
	});
});
