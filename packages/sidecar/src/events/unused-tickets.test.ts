import type { OpenedProducer } from '@spock/events';
import { FakeClock } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { TICKET_LINGER_MS, UnusedTickets } from './unused-tickets.ts';

/** As many as may outlive their call lines. */
const LINGERING_MAX = 4096;

function bench() {
	const clock = new FakeClock();
	const ended: string[] = [];
	const open = (ticket: string): OpenedProducer => {
		const producer = { reply: { ticket }, closed: () => void ended.push(ticket) } as unknown as OpenedProducer;
		tickets.given(producer);
		return producer;
	};
	const tickets = new UnusedTickets(clock);
	return { clock, ended, open, tickets };
}

describe('a ticket that was not used', () => {
	it('outlives its call line for some seconds', async () => {
		const { clock, ended, open, tickets } = bench();
		tickets.lineEnded(open('a'));
		await clock.advance(TICKET_LINGER_MS - 1);
		expect(ended).toEqual([]);
		await clock.advance(1);
		expect(ended).toEqual(['a']);
		tickets.used('a');
		expect(ended).toEqual(['a']);
	});

	it('ends its call line as soon as it is used, before that end or behind it', () => {
		const { clock, ended, open, tickets } = bench();
		const early = open('early');
		tickets.used('early');
		expect(ended).toEqual([]);
		tickets.lineEnded(early);
		tickets.lineEnded(open('late'));
		tickets.used('late');
		expect(ended).toEqual(['early', 'late']);
		expect(clock.pendingTimers).toBe(0);
	});

	it('is void at once where its client has been given another', () => {
		const { ended, open, tickets } = bench();
		const producer = open('a');
		tickets.replaced(producer);
		expect(ended).toEqual(['a']);
	});

	it('of 4096 that outlive their lines the oldest makes room for one more', () => {
		const { clock, ended, open, tickets } = bench();
		for (let number = 0; number < LINGERING_MAX; number++) tickets.lineEnded(open(`${number}`));
		expect(ended).toEqual([]);
		tickets.lineEnded(open('one more'));
		expect(ended).toEqual(['0']);
		expect(clock.pendingTimers).toBe(LINGERING_MAX);
		tickets.close();
		expect([ended.length, clock.pendingTimers]).toEqual([LINGERING_MAX + 1, 0]);
	});
});
