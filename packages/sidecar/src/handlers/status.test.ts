import type { StatusReply } from '@spock/protocol';
import { FakeClock } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import type { StatusView } from '../admin/status-view.ts';
import type { Call } from '../server/answer.ts';
import { statusHandler } from './status.ts';

/** How often a status of this size is made, for two requests at once and one a second later. */
async function timesMade(reason: string): Promise<number> {
	let made = 0;
	const clock = new FakeClock();
	const handle = statusHandler(() => {
		made++;
		return { reasons: [reason] } as unknown as StatusReply;
	}, clock);
	const call = {} as Call;
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
			() => ({ services: Array(3000).fill(2) }) as unknown as StatusView,
		);
		const call = {} as Call;
		const parse = (data: { view: true } | null): unknown => JSON.parse(handle(data, call) as string);
		expect(parse(null)).toEqual({ reasons: [], watches: [1], keyWatches: [1] });
		expect(parse({ view: true })).toEqual({
			reasons: [],
			watches: [],
			keyWatches: [],
			view: { services: Array(2000).fill(2) },
		});
	});
});
