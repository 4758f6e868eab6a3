import type { StatusReply } from '@spock/protocol';
import { FakeClock } from '@spock/testkit';
import { describe, expect, it } from 'vitest';
import type { Call } from '../connection/answer.ts';
import { statusHandler } from './session.ts';
import type { StatusView } from './status-view.ts';

const callOf = (frameBytesMax: number) => ({ caller: { frameBytesMax } }) as Call;

/** How often a status of this size is made, for two requests at once and one a second later. */
async function timesMade(reason: string): Promise<number> {
	let made = 0;
	const clock = new FakeClock();
	const handle = statusHandler(() => {
		made++;
		return { reasons: [reason] } as unknown as StatusReply;
	}, clock);
	const call = callOf(1_048_576);
	const first = handle(null, call);
	expect(handle(null, call)).toBe(first);
	await clock.advance(1000);
	handle(null, call);
	return made;
}

describe('status', () => {
	it('is made anew for every request', async () => {
		expect(await timesMade('short')).toBe(3);
	});

	it('is told again as it was for a moment where it is long', async () => {
		expect(await timesMade('x'.repeat(20_000))).toBe(2);
	});

	it('has the view only for who asks for it, who is then not told the watches twice', () => {
		const status = () => ({ reasons: [], watches: [1], keyWatches: [1] }) as unknown as StatusReply;
		const handle = statusHandler(
			status,
			new FakeClock(),
			() => ({ services: Array(3000).fill(2), changes: [] }) as unknown as StatusView,
		);
		const call = callOf(1_048_576);
		const parse = (data: { view: true } | null): unknown => JSON.parse(handle(data, call) as string);
		expect(parse(null)).toEqual({ reasons: [], watches: [1], keyWatches: [1] });
		expect(parse({ view: true })).toEqual({
			reasons: [],
			watches: [],
			keyWatches: [],
			view: { services: Array(2000).fill(2), changes: [] },
		});
	});

	it('has as much of the view as fits into a frame: the newest changes, and services', () => {
		const view = (): StatusView =>
			({
				services: Array(100).fill('service'),
				changes: Array.from({ length: 200 }, (_, number) => number),
			}) as unknown as StatusView;
		const handle = statusHandler(() => ({ reasons: [] }) as unknown as StatusReply, new FakeClock(), view);
		const lengths = (frameBytesMax: number): unknown => {
			const text = handle({ view: true }, callOf(frameBytesMax)) as string;
			expect(text.length).toBeLessThanOrEqual(frameBytesMax);
			const { services, changes } = JSON.parse(text).view;
			return [services.length, changes.length, changes.at(-1)];
		};
		expect(lengths(10_000)).toEqual([100, 200, 199]);
		expect(lengths(1600)).toEqual([100, 100, 199]);
		expect(lengths(600)).toEqual([25, 0, undefined]);
	});
});
