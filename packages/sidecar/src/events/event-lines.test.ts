import type { Delivery } from '@spock/events';
import { type AckedData, SpockError } from '@spock/protocol';
import { describe, expect, it } from 'vitest';

import { ackedLines, consumerClosedLine, deliverLines, windowLine } from './event-lines.ts';

/** The shortest that a client may ask for. */
const SHORT = 1024;

interface Pushed {
	readonly event: string;
	readonly data: Record<string, unknown>;
}

/** Each fits, and is one line. */
function read(lines: readonly string[], frameBytesMax: number): Pushed[] {
	return lines.map((line) => {
		expect(Buffer.byteLength(line) - 1).toBeLessThanOrEqual(frameBytesMax);
		expect(line.indexOf('\n')).toBe(line.length - 1);
		return JSON.parse(line) as Pushed;
	});
}

function acked(data: Partial<AckedData>, frameBytesMax = SHORT): AckedData[] {
	const lines = ackedLines({ producer: 'p', epoch: 1, persisted: 100, ...data }, frameBytesMax);
	return read(lines, frameBytesMax).map((push) => push.data as unknown as AckedData);
}

function delivery(n: number, payload: string): Delivery {
	const text = `{"stream":"orders","payload":${payload}}`;
	return { n, delivery: 1, event: { position: n, time: 1, stream: 'orders', text } } as unknown as Delivery;
}

describe('what a producer is told', () => {
	it('is one line where it fits', () => {
		const data = { stored: { orders: 12 }, refused: [{ seq: 9, code: 'BAD_REQUEST' as const, message: 'no' }] };
		expect(acked(data)).toEqual([{ producer: 'p', epoch: 1, persisted: 100, ...data }]);
	});

	it('is several where it does not, and none says `persisted` of an event before it says that it was refused', () => {
		const refused = Array.from({ length: 40 }, (_, index) => {
			return { seq: 10 + index * 2, code: 'BAD_REQUEST' as const, message: 'x'.repeat(100) };
		});
		const stored = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`stream-of-many-${index}`, index]));
		const told = acked({ refused, stored });
		const known = new Set<number>();
		for (const one of told) {
			for (const { seq } of one.refused ?? []) known.add(seq);
			for (const { seq } of refused) if (seq <= one.persisted) expect(known).toContain(seq);
		}
		expect(known.size).toBe(refused.length);
		expect(told.at(-1)?.persisted).toBe(100);
		expect(Object.assign({}, ...told.map((one) => one.stored))).toEqual(stored);
	});

	it('has a shorter message where that alone is too long', () => {
		const [one] = acked({ refused: [{ seq: 1, code: 'BAD_REQUEST', message: 'é'.repeat(2000) }] });
		expect(one?.refused?.[0]?.message).toBe('é'.repeat(128));
	});

	it('of a window: the reason is shortened where it must be', () => {
		const window = { producer: 'p', epoch: 1, bytes: 0, events: 0 };
		const whole = { ...window, reason: 'the log is full' };
		expect(read([windowLine(whole, SHORT)], SHORT)).toEqual([{ event: 'eventWindow', data: whole }]);
		const [long] = read([windowLine({ ...window, reason: 'x'.repeat(2000) }, SHORT)], SHORT);
		expect(long?.data).toEqual({ ...window, reason: 'x'.repeat(128) });
	});
});

describe('what a consumer is told', () => {
	it('of its end: shorter, and without details, where it must be', () => {
		const error = new SpockError('UNAVAILABLE', 'the log is gone', { details: { path: '/log' } });
		const [whole] = read([consumerClosedLine(3, error, SHORT)], SHORT);
		expect(whole?.data).toMatchObject({ consumer: 3, error: { code: 'UNAVAILABLE', details: { path: '/log' } } });
		const long = new SpockError('UNAVAILABLE', 'x'.repeat(2000), { details: { path: '/log' } });
		const [short] = read([consumerClosedLine(3, long, SHORT)], SHORT);
		expect(short?.data).toMatchObject({ error: { message: 'x'.repeat(128), retryable: true, details: {} } });
	});

	it('of events: as many to a line as fit, in order, each as its producer wrote it', () => {
		const payload = '[1.10, "é"]';
		const all = Array.from({ length: 30 }, (_, index) => delivery(index + 1, payload));
		const { lines, oversize } = deliverLines({ consumer: 3, rewinds: 2 }, all, SHORT);
		expect(oversize).toBeUndefined();
		const pushes = read(lines, SHORT);
		expect(pushes.length).toBeGreaterThan(1);
		for (const { event, data } of pushes) expect([event, data['consumer'], data['rewinds']]).toEqual(['deliver', 3, 2]);
		expect(pushes.flatMap(({ data }) => (data['events'] as { n: number }[]).map(({ n }) => n))).toEqual(
			all.map(({ n }) => n),
		);
		expect(lines.join('').split(`"payload":${payload}}`)).toHaveLength(all.length + 1);
	});

	it('of the longest event that fits, and of one with a byte more', () => {
		const room =
			SHORT -
			Buffer.byteLength(deliverLines({ consumer: 3, rewinds: 0 }, [delivery(1, '""')], SHORT).lines[0] ?? '') +
			1;
		const longest = deliverLines({ consumer: 3, rewinds: 0 }, [delivery(1, `"${'x'.repeat(room)}"`)], SHORT);
		expect(read(longest.lines, SHORT)).toHaveLength(1);
		const events = [delivery(1, '0'), delivery(2, `"${'x'.repeat(room + 1)}"`), delivery(3, '0')];
		const { lines, oversize } = deliverLines({ consumer: 3, rewinds: 0 }, events, SHORT);
		expect(oversize).toMatchObject({ delivery: { n: 2 }, frameBytes: SHORT + 1 });
		expect(read(lines, SHORT).flatMap(({ data }) => data['events'])).toMatchObject([{ n: 1 }]);
	});

	it('a long line ends early, so that its client may begin', () => {
		const all = Array.from({ length: 20 }, (_, index) => delivery(index + 1, `"${'x'.repeat(10_000)}"`));
		const { lines } = deliverLines({ consumer: 3, rewinds: 0 }, all, 4_194_304);
		expect(lines.length).toBeGreaterThan(2);
		for (const line of lines) expect(line.length).toBeLessThan(65_536 + 11_000);
	});
});
