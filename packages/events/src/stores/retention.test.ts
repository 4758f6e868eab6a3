import { FakeClock } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { planTrim, type RetentionRules, type SealedSegment, SealedTimes } from './retention.ts';

const NOW_MS = 1_000_000;
const RULES: RetentionRules = { idWindowMs: 100, retentionMs: 1000, retentionBytes: 250 };

/** Segments of ten positions and 100 bytes each, with the position of the last event of each stream. */
function segments(...each: { ageMs: number; idAgeMs?: number; streams?: Record<string, number> }[]): SealedSegment[] {
	return each.map(({ ageMs, idAgeMs, streams = {} }, index) => ({
		next: (index + 1) * 10 + 1,
		bytes: 100,
		lastTime: NOW_MS - ageMs,
		lastIdTime: idAgeMs === undefined ? undefined : NOW_MS - idAgeMs,
		mayHold: (stream, from) => (streams[stream] ?? 0) >= from,
	}));
}

/** The position below which the plan lets the log be trimmed. */
function plannedBelow(...plan: Parameters<typeof planTrim>): number {
	return planTrim(...plan).below;
}

describe('what of the log may be trimmed', () => {
	const old = { ageMs: 2000 };

	it('segments that are older than they must be kept', () => {
		expect(plannedBelow(segments(old, old, { ageMs: 999 }), 300, [], { ...RULES, retentionBytes: 1000 }, NOW_MS)).toBe(
			21,
		);
	});

	it('nothing while there is room and it is young', () => {
		expect(plannedBelow(segments({ ageMs: 500 }, { ageMs: 400 }), 250, [], RULES, NOW_MS)).toBe(0);
	});

	it('as many of the oldest as the log is too large', () => {
		const all = segments({ ageMs: 500 }, { ageMs: 400 }, { ageMs: 300 }, { ageMs: 200 });
		expect(plannedBelow(all, 400, [], RULES, NOW_MS)).toBe(21);
	});

	it('nothing that is needed to know the id of a repetition, even if the log is too large', () => {
		const all = segments({ ageMs: 99, idAgeMs: 100 }, { ageMs: 99 }, { ageMs: 98, idAgeMs: 99 }, { ageMs: 97 });
		expect(planTrim(all, 1000, [], RULES, NOW_MS)).toEqual({ below: 21, hold: 'ids' });
	});

	it('and says what holds the rest', () => {
		const groups = [{ stream: 'orders', position: 5 }];
		expect(planTrim(segments(old), 300, groups, RULES, NOW_MS).hold).toBeUndefined();
		const ofGroup = segments({ ...old, streams: { orders: 5 } });
		expect(planTrim(ofGroup, 300, groups, RULES, NOW_MS).hold).toBe('group');
		expect(planTrim(segments({ ageMs: 999 }), 250, groups, RULES, NOW_MS).hold).toBe('retention');
	});

	it('nothing that a group is not past', () => {
		const all = segments({ ...old, streams: { orders: 5 } }, { ...old, streams: { orders: 15, clicks: 16 } }, old);
		expect(plannedBelow(all, 300, [{ stream: 'orders', position: 6 }], RULES, NOW_MS)).toBe(11);
		expect(plannedBelow(all, 300, [{ stream: 'orders', position: 15 }], RULES, NOW_MS)).toBe(11);
		expect(plannedBelow(all, 300, [{ stream: 'orders', position: 16 }], RULES, NOW_MS)).toBe(31);
	});

	it('a group whose stream has nothing new holds nothing back, wherever its place is', () => {
		const all = segments({ ...old, streams: { orders: 5 } }, { ...old, streams: { clicks: 12 } }, old);
		expect(plannedBelow(all, 300, [{ stream: 'orders', position: 6 }], RULES, NOW_MS)).toBe(31);
	});

	it('nothing behind a segment that must stay', () => {
		const all = segments({ ...old, streams: { orders: 5 } }, old);
		expect(plannedBelow(all, 300, [{ stream: 'orders', position: 5 }], RULES, NOW_MS)).toBe(0);
	});

	it('a clock that was set back deletes nothing', () => {
		expect(plannedBelow(segments({ ageMs: -5000, idAgeMs: -5000 }, old), 1000, [], RULES, NOW_MS)).toBe(0);
	});
});

describe('when the records of a segment came', () => {
	it('is what they say, or earlier where that is later than they can have come', async () => {
		const clock = new FakeClock();
		const times = new SealedTimes(clock);
		const honest = { lastTime: clock.wallNow() - 5000 };
		const ahead = { lastTime: clock.wallNow() + 3_600_000 };
		const seenAt = clock.wallNow();
		expect([times.lastTimeOf(honest), times.lastTimeOf(ahead)]).toEqual([honest.lastTime, seenAt]);
		await clock.advance(120_000);
		expect([times.lastTimeOf(honest), times.lastTimeOf(ahead)]).toEqual([honest.lastTime, seenAt]);
	});
});
