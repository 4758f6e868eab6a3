import type { StatusReply } from '@spock/protocol';
import type { Clock } from '@spock/protocol/internal';

import { type Answer, answer, type Handler } from '../server/answer.ts';

/** A status of more characters than this, of hundreds of services, is told again as it was for so long. */
const LONG_CHARACTERS = 16_384;
const REUSED_MS = 250;

/**
 * What the sidecar knows of itself. It grows with what is watched, which clients decide: made for each of their requests, a
 * long one would let one client take all the time of the others.
 */
export function statusHandler(status: () => StatusReply, clock: Pick<Clock, 'now'>): Handler<'status'> {
	let told: { readonly text: Answer<StatusReply>; readonly atMs: number } | undefined;
	return () => {
		const nowMs = clock.now();
		if (told !== undefined && nowMs - told.atMs < REUSED_MS) return told.text;
		const text = answer(status());
		told = text.length > LONG_CHARACTERS ? { text, atMs: nowMs } : undefined;
		return text;
	};
}
