import type { RegistrationReply } from '@spock/protocol';
import { type Clock, offAbort, onAbort } from '@spock/protocol/internal';

/** A caller is told how it is before it gives up: after this share of its deadline, and after this long at most. */
const ANSWER_SHARE = 0.8;
const ANSWER_MS_MAX = 4000;

/** How long the caller of one call waits. */
export interface RegistrationWait {
	/** In milliseconds. Default: longer than it takes to be told how it is. */
	readonly timeoutMs?: number | undefined;
	/** Aborts when nobody waits any more. */
	readonly signal?: AbortSignal | undefined;
}

/** What {@link answerInTime} needs besides the wait. */
export interface AnswerInTime {
	readonly clock: Clock;
	/** How it is now. */
	readonly now: () => RegistrationReply;
	/** The caller was told that it is pending: the next news is news to it, also where it is what others know. */
	readonly toldPending: () => void;
	/** The caller has given up. */
	readonly gaveUp: () => void;
}

/**
 * The outcome, or how it is when the caller will not wait much longer: a caller whose deadline passes would believe that
 * nothing was registered, although it is still tried.
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
