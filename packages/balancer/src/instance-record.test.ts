import { describe, expect, it } from 'vitest';

import { type EjectionRules, InstanceRecord } from './instance-record.ts';

const rules: EjectionRules = { ejectAfterFailures: 3, ejectionMsMin: 1000, ejectionMsMax: 5000 };
const noJitter = (): number => 0;

/** Fails so often at this time; the last result. */
function fail(record: InstanceRecord, times: number, nowMs: number, random = noJitter): boolean {
	let isEjected = false;
	for (let turn = 0; turn < times; turn++) isEjected = record.report('failure', 1, nowMs, rules, random);
	return isEjected;
}

describe('ejection', () => {
	it('so many failures in a row eject, for the first time', () => {
		const record = new InstanceRecord();
		expect(fail(record, 2, 100)).toBe(false);
		expect(record.ejectedUntilMs).toBe(Number.NEGATIVE_INFINITY);
		expect(fail(record, 1, 100)).toBe(true);
		expect(record.ejectedUntilMs).toBe(1100);
	});

	it('a success in between begins the count again; what was cancelled says nothing', () => {
		const record = new InstanceRecord();
		fail(record, 2, 0);
		record.report('success', 1, 0, rules, noJitter);
		fail(record, 2, 0);
		expect(record.report('cancelled', 1, 0, rules, noJitter)).toBe(false);
		expect(record.failures).toBe(2);
		expect(fail(record, 1, 0)).toBe(true);
	});

	it('who comes back is on trial: one failure ejects, for twice as long, up to the most', () => {
		const record = new InstanceRecord();
		fail(record, 3, 0);
		const times: number[] = [];
		for (let turn = 0; turn < 4; turn++) {
			const nowMs = record.ejectedUntilMs;
			expect(fail(record, 1, nowMs)).toBe(true);
			times.push(record.ejectedUntilMs - nowMs);
		}
		expect(times).toEqual([2000, 4000, 5000, 5000]);
	});

	it('who did well for as long as it had been out begins anew', () => {
		const record = new InstanceRecord();
		fail(record, 3, 0);
		fail(record, 1, 1000);
		expect(record.ejections).toBe(2);
		record.report('success', 1, 3000, rules, noJitter);
		fail(record, 3, 5001);
		expect(record.ejections).toBe(1);
		expect(record.ejectedUntilMs).toBe(6001);
	});

	it('who fails again sooner does not', () => {
		const record = new InstanceRecord();
		fail(record, 3, 0);
		record.report('success', 1, 1500, rules, noJitter);
		fail(record, 3, 1900);
		expect(record.ejectedUntilMs).toBe(3900);
	});

	it('calls that were under way when it was ejected do not make it longer', () => {
		const record = new InstanceRecord();
		fail(record, 3, 0);
		expect(fail(record, 10, 999)).toBe(false);
		expect(record.ejectedUntilMs).toBe(1000);
	});

	it('a call that was under way and succeeded does not end the trial, nor does it spare what comes', () => {
		const record = new InstanceRecord();
		fail(record, 3, 0);
		record.report('success', 1, 500, rules, noJitter);
		expect(record.failures).toBe(3);
		expect(fail(record, 1, 1000)).toBe(true);
		expect(record.ejectedUntilMs).toBe(3000);
	});

	it('is up to a tenth longer, so that clients do not come back together', () => {
		const record = new InstanceRecord();
		fail(record, 3, 0, () => 0.999);
		expect(record.ejectedUntilMs).toBe(1100);
	});

	it('is off with 0', () => {
		const record = new InstanceRecord();
		for (let turn = 0; turn < 100; turn++)
			expect(record.report('failure', 1, 0, { ...rules, ejectAfterFailures: 0 }, noJitter)).toBe(false);
	});

	it('is forgiven whole', () => {
		const record = new InstanceRecord();
		fail(record, 3, 0);
		record.forgive();
		expect([record.failures, record.ejections, record.ejectedUntilMs]).toEqual([0, 0, Number.NEGATIVE_INFINITY]);
		fail(record, 3, 10);
		expect(record.ejectedUntilMs).toBe(1010);
	});
});

describe('the cost of one call more', () => {
	it('is the latency, for it and each that is under way', () => {
		const record = new InstanceRecord();
		record.report('success', 20, 0, rules, noJitter);
		expect(record.cost(0)).toBe(20);
		record.inFlight = 3;
		expect(record.cost(0)).toBe(80);
	});

	it('rises at once with a slow call, falls by and by, and fades with time', () => {
		const record = new InstanceRecord();
		record.report('success', 10, 1000, rules, noJitter);
		record.report('success', 100, 1000, rules, noJitter);
		expect(record.cost(1000)).toBe(100);
		record.report('success', 10, 2000, rules, noJitter);
		// In a second a tenth of the 100 ms fades, and the 10 ms take its place.
		expect(record.cost(2000)).toBeCloseTo(100 * Math.exp(-0.1) + 10 * (1 - Math.exp(-0.1)), 6);
		expect(record.cost(100_000)).toBeLessThan(1);
	});

	it('of an instance that has not answered yet is nothing, until it is tried', () => {
		const record = new InstanceRecord();
		expect(record.cost(0)).toBe(0);
		record.inFlight = 1;
		expect(record.cost(0)).toBeGreaterThan(1000);
	});

	it('a refusal is no fast answer, and a time-out is a slow one', () => {
		const record = new InstanceRecord();
		record.report('success', 50, 0, rules, noJitter);
		record.report('failure', 1, 0, rules, noJitter);
		expect(record.cost(0)).toBe(50);
		record.report('failure', 5000, 0, rules, noJitter);
		expect(record.cost(0)).toBe(5000);
	});

	it('does not fall faster by a refusal than by time', () => {
		const [refusing, silent] = [new InstanceRecord(), new InstanceRecord()];
		for (const record of [refusing, silent]) record.report('success', 50, 0, rules, noJitter);
		refusing.report('failure', 1, 5000, rules, noJitter);
		expect(refusing.cost(5000)).toBe(silent.cost(5000));
	});

	it('is that of the last time-out, also when slower ones have faded since', () => {
		const record = new InstanceRecord();
		record.report('failure', 5000, 0, rules, noJitter);
		record.report('failure', 5000, 60_000, rules, noJitter);
		expect(record.cost(60_000)).toBeCloseTo(5000, 6);
		record.report('failure', 3000, 120_000, rules, noJitter);
		expect(record.cost(120_000)).toBeGreaterThanOrEqual(3000);
	});
});
