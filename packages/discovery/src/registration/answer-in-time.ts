import type { RegistrationReply } from '@spock/protocol';
import { type Clock, offAbort, onAbort } from '@spock/protocol/internal';

/** A caller gets the current state before it gives up: after this share of its deadline, and after this long at most. */
const ANSWER_SHARE = 0.8;
const ANSWER_MS_MAX = 4000;

/** How long the caller of one call waits. */
export interface RegistrationWait {
	/** In milliseconds. Default: longer than it takes to get the current state. */
	readonly timeoutMs?: number | undefined;
	/** Aborts when the caller gives up. */
	readonly signal?: AbortSignal | undefined;
}

/** What {@link answerInTime} needs besides the wait. */
export interface AnswerInTime {
	readonly clock: Clock;
	/** The current state. */
	readonly now: () => RegistrationReply;
	/** The caller was answered `pending`: it must be notified of the next state, also if the other holders know it already. */
	readonly toldPending: () => void;
	/** The caller has given up. */
	readonly gaveUp: () => void;
}

/**
 * The outcome, or the current state shortly before the caller's deadline: a caller that times out would believe that nothing was
 * registered, although the attempts continue.
 */
export function answerInTime(
	outcome: Promise<RegistrationReply>,
	{ timeoutMs = Number.POSITIVE_INFINITY, signal }: RegistrationWait,
	{ clock, now, toldPending, gaveUp }: AnswerInTime,
): Promise<RegistrationReply> {
	return new Promise((resolve, reject) => {
		const end = (): void => {
			clock.clearTimeout(timer);
			offAbort(signal, abort);
		};
		const answerNow = (): void => {
			end();
			const reply = now();
			const isNews = reply.state === 'registered';
			if (isNews) toldPending();
			resolve(isNews ? { ...reply, state: 'pending', error: 'the registry has not answered yet' } : reply);
		};
		const abort = (): void => {
			gaveUp();
			answerNow();
		};
		const timer = clock.setTimeout(answerNow, Math.ceil(Math.min(ANSWER_MS_MAX, timeoutMs * ANSWER_SHARE)));
		timer.unref?.();
		if (signal !== undefined) onAbort(signal, abort);
		outcome.then(resolve, reject).finally(end);
	});
}
