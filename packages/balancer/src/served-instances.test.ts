import type { ServiceInstance } from '@spock/protocol';
import { fakeSnapshot } from '@spock/testkit';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { InstanceRecord } from './instance-record.ts';
import { pickerOver } from './pickers.ts';
import { spareEjected } from './served-instances.ts';

const rules = { ejectAfterFailures: 1, ejectionMsMin: 1000, ejectionMsMax: 1000 };

function instances(count: number): readonly ServiceInstance[] {
	return fakeSnapshot(
		'barista',
		1,
		Array.from({ length: count }, (_, index) => `10.0.0.${index}:80`),
	).instances;
}

/** Records of which these, by index, were ejected at these times. */
function recordsOf(all: readonly ServiceInstance[], ejectedAtMs: ReadonlyMap<number, number>) {
	const records = new Map(all.map(({ instance }) => [instance, new InstanceRecord()]));
	for (const [index, atMs] of ejectedAtMs) {
		records.get((all[index] as ServiceInstance).instance)?.report('failure', 1, atMs, rules, () => 0);
	}
	return records;
}

describe('who is spared', () => {
	it('nobody: the very same list', () => {
		const all = instances(3);
		const { serving, untilMs } = spareEjected(all, () => undefined, 0, 50);
		expect(serving).toBe(all);
		expect(untilMs).toBe(Number.POSITIVE_INFINITY);
	});

	it('the ejected ones, until the first comes back', () => {
		const all = instances(5);
		const records = recordsOf(
			all,
			new Map([
				[1, 0],
				[3, 200],
			]),
		);
		const { serving, untilMs } = spareEjected(all, ({ instance }) => records.get(instance), 300, 50);
		expect(serving).toEqual([all[0], all[2], all[4]]);
		expect(untilMs).toBe(1000);
		expect(spareEjected(all, ({ instance }) => records.get(instance), 1000, 50).serving).toEqual([
			all[0],
			all[1],
			all[2],
			all[4],
		]);
		expect(spareEjected(all, ({ instance }) => records.get(instance), 1200, 50).serving).toBe(all);
	});

	it('never more than the share, and of them those that come back last; a lone instance never', () => {
		fc.assert(
			fc.property(
				fc.integer({ min: 1, max: 30 }),
				fc.array(fc.integer({ min: 0, max: 999 }), { maxLength: 30 }),
				fc.integer({ min: 0, max: 100 }),
				(count, times, percentMax) => {
					const all = instances(count);
					const ejectedAtMs = new Map(times.slice(0, count).map((atMs, index) => [index, atMs]));
					const records = recordsOf(all, ejectedAtMs);
					const { serving } = spareEjected(all, ({ instance }) => records.get(instance), 999, percentMax);
					const out = all.filter((instance) => !serving.includes(instance));
					expect(out.length).toBe(Math.min(ejectedAtMs.size, Math.floor((count * percentMax) / 100)));
					const untilOf = ({ instance }: ServiceInstance): number => records.get(instance)?.ejectedUntilMs ?? 0;
					const soonestOut = Math.min(...out.map(untilOf));
					for (const instance of serving) expect(untilOf(instance)).toBeLessThanOrEqual(soonestOut);
				},
			),
		);
	});
});

describe('two choices', () => {
	/** A picker whose draws are given, over records that are kept. */
	function picker(policy: 'least-in-flight' | 'least-latency', all: readonly ServiceInstance[], draws: number[]) {
		const records = new Map<string, InstanceRecord>(all.map(({ instance }) => [instance, new InstanceRecord()]));
		const of = (index: number): InstanceRecord => records.get(all[index]?.instance ?? '') as InstanceRecord;
		const made = pickerOver(policy, all, {
			random: () => draws.shift() ?? 0,
			recordOf: ({ instance }) => records.get(instance) as InstanceRecord,
			now: () => 0,
		});
		return { made, of };
	}

	it('takes the one of two with fewer calls under way', () => {
		const all = instances(3);
		// 0 and 0.9 of what is left: the first and the last.
		const { made, of } = picker('least-in-flight', all, [0, 0.9, 0, 0.9]);
		of(0).inFlight = 2;
		of(2).inFlight = 1;
		expect(made.pick()).toBe(all[2]);
		of(2).inFlight = 5;
		expect(made.pick()).toBe(all[0]);
	});

	it('counts what is under way by the weight', () => {
		const [first, second] = instances(2) as [ServiceInstance, ServiceInstance];
		const strong = { ...first, weight: 10 };
		const { made, of } = picker('least-in-flight', [strong, second], [0, 0]);
		of(0).inFlight = 5;
		of(1).inFlight = 1;
		expect(made.pick()).toBe(strong);
	});

	it('draws any two: the second may stand before the first', () => {
		const all = instances(3);
		const { made, of } = picker('least-in-flight', all, [0.9, 0]);
		of(1).inFlight = 5;
		of(2).inFlight = 1;
		expect(made.pick()).toBe(all[0]);
	});

	it('takes the one of two that costs less time', () => {
		const all = instances(2);
		const { made, of } = picker('least-latency', all, [0, 0]);
		of(0).report('success', 100, 0, rules, () => 0);
		of(1).report('success', 10, 0, rules, () => 0);
		expect(made.pick()).toBe(all[1]);
	});

	it('counts calls and not their time under least-in-flight', () => {
		const all = instances(2);
		const { made, of } = picker('least-in-flight', all, [0, 0]);
		of(0).report('success', 5000, 0, rules, () => 0);
		of(1).inFlight = 1;
		expect(made.pick()).toBe(all[0]);
	});

	it('lets a slow call of long ago count for less than one that has no answer yet', () => {
		const all = instances(2);
		const records = all.map(() => new InstanceRecord());
		records[0]?.report('success', 5000, 0, rules, () => 0);
		if (records[1] !== undefined) records[1].inFlight = 1;
		let nowMs = 0;
		const made = pickerOver('least-latency', all, {
			random: () => 0,
			recordOf: (instance) => records[all.indexOf(instance)] as InstanceRecord,
			now: () => nowMs,
		});
		expect(made.pick()).toBe(all[1]);
		nowMs = 60_000;
		expect(made.pick()).toBe(all[0]);
	});

	it('compares what was reported where no clock is given', () => {
		const all = instances(2);
		const records = all.map(() => new InstanceRecord());
		records[0]?.report('success', 10, 0, rules, () => 0);
		records[1]?.report('success', 100, 0, rules, () => 0);
		const recordOf = (instance: ServiceInstance): InstanceRecord => records[all.indexOf(instance)] as InstanceRecord;
		expect(pickerOver('least-latency', all, { random: () => 0, recordOf }).pick()).toBe(all[0]);
	});

	it.each(['least-in-flight', 'least-latency'] as const)('%s evens out the calls of a slow instance', (policy) => {
		const all = instances(5);
		let seed = 1;
		const records = new Map(all.map(({ instance }) => [instance, new InstanceRecord()]));
		const made = pickerOver(policy, all, {
			random: () => {
				seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
				return seed / 2 ** 32;
			},
			recordOf: ({ instance }) => records.get(instance) as InstanceRecord,
			now: () => nowMs,
		});
		let nowMs = 0;
		const ends: { atMs: number; name: string }[] = [];
		const counts = new Map<string, number>();
		for (; nowMs < 2000; nowMs++) {
			for (const { name } of ends.filter(({ atMs }) => atMs === nowMs)) {
				const record = records.get(name) as InstanceRecord;
				record.inFlight--;
				record.report('success', name === all[0]?.instance ? 100 : 10, nowMs, rules, () => 0);
			}
			const name = made.pick()?.instance ?? '';
			(records.get(name) as InstanceRecord).inFlight++;
			counts.set(name, (counts.get(name) ?? 0) + 1);
			ends.push({ atMs: nowMs + (name === all[0]?.instance ? 100 : 10), name });
		}
		// It is ten times as slow: round-robin would give it 400.
		expect(counts.get(all[0]?.instance ?? '')).toBeLessThan(200);
		for (const { instance } of all.slice(1)) expect(counts.get(instance)).toBeGreaterThan(300);
	});
});
