import { FRAME_BYTES_MAX, type StatusReply } from '@spock/protocol';
import { FakeClock } from '@spock/testkit';
import { describe, expect, it } from 'vitest';
import type { RequestContext } from '../connection/answer.ts';
import { statusHandler } from './status.ts';

/** How often a status of this size is made, for two requests at once and one a second later. */
async function timesMade(reason: string): Promise<number> {
	let made = 0;
	const clock = new FakeClock();
	const handle = statusHandler(() => {
		made++;
		return { reasons: [reason] } as unknown as StatusReply;
	}, clock);
	const call = { caller: { frameBytesMax: FRAME_BYTES_MAX } } as RequestContext;
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

	it('is sent again as it was for a moment where it is long', async () => {
		expect(await timesMade('x'.repeat(20_000))).toBe(2);
	});

	it('has as much of its lists as fits into a frame, and how long they are', async () => {
		const entry = (index: number) => ({ service: `service-${index}`, error: 'x'.repeat(index % 200) });
		const list = Array.from({ length: 10_000 }, (_, index) => entry(index));
		const status = { reasons: [], watches: list, registrations: list.slice(0, 5), keyWatches: [] };
		const handle = statusHandler(() => status as unknown as StatusReply, new FakeClock());
		const shown = async (frameBytesMax: number): Promise<{ bytes: number; reply: StatusReply }> => {
			const text = String(await handle(null, { caller: { frameBytesMax } } as RequestContext));
			return { bytes: Buffer.byteLength(text), reply: JSON.parse(text) };
		};
		const cut = await shown(FRAME_BYTES_MAX);
		expect(cut.bytes).toBeLessThan(FRAME_BYTES_MAX);
		expect(cut.bytes).toBeGreaterThan(FRAME_BYTES_MAX / 2);
		expect(cut.reply.counts).toEqual({ watches: 10_000, registrations: 5, keyWatches: 0 });
		expect(cut.reply.watches[0]).toEqual(entry(0));
		const whole = await shown(8 * FRAME_BYTES_MAX);
		expect(whole.reply.watches).toHaveLength(10_000);
		expect(whole.reply.counts).toBeUndefined();
		expect((await shown(1024)).bytes).toBeLessThan(1024);
	});
});
