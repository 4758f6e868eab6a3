import type { StatusReply } from '@spock/protocol';
import { FakeClock } from '@spock/testkit';
import { describe, expect, it } from 'vitest';
import type { RequestContext } from '../connection/answer.ts';
import { statusHandler } from './handlers.ts';

/** How often a status of this size is made, for two requests at once and one a second later. */
async function timesMade(reason: string): Promise<number> {
	let made = 0;
	const clock = new FakeClock();
	const handle = statusHandler(() => {
		made++;
		return { reasons: [reason] } as unknown as StatusReply;
	}, clock);
	const call = {} as RequestContext;
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
});
