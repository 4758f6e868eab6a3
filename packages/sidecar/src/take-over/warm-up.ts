import { type SnapshotSource, SpockError } from '@spock/protocol';
import type { Clock } from '@spock/protocol/internal';

import type { SidecarSource } from '../foundation/sidecar-source.ts';
import type { KnownQueries } from './messages.ts';

/** Queries at once: a take-over must not be a burden on the registry. */
const QUESTIONS_AT_ONCE = 64;

const ASK_AGAIN_MS = 100;

/** What is warmed up, within which time. */
export interface WarmUp {
	readonly source: SidecarSource;
	readonly warmUpMs: number;
	readonly clock: Clock;
	readonly signal: AbortSignal;
}

/**
 * Repeats every query that the sidecar in place has an answer to, so that no client that moves waits. Rejects if one fails: the
 * sidecar in place then knows more, and must not be replaced. Resolves with where the registry's answer comes from; undefined if there was none.
 */
export async function warmUp(
	{ source, warmUpMs, clock, signal }: WarmUp,
	{ services, keys }: KnownQueries,
): Promise<SnapshotSource | undefined> {
	const deadlineMs = clock.now() + warmUpMs;
	const wait = (): { timeoutMs: number; signal: AbortSignal } => ({
		timeoutMs: Math.max(1, Math.ceil(deadlineMs - clock.now())),
		signal,
	});
	const questions = [
		...services.map((query) => ({ name: query.service, ask: async () => source.get(query, wait()) })),
		...keys.map((query) => ({ name: `the key ${query.key}`, ask: async () => source.keys?.get(query, wait()) })),
	];
	// The old sidecar may not have been ready either: readiness reports it, and asks again.
	const answered = (source.probe?.() ?? source.list({}).then((list) => list.source)).catch(() => undefined);
	const ask = async (): Promise<void> => {
		for (let next = questions.pop(); next !== undefined; next = questions.pop()) {
			const { name } = next;
			await untilAnswered(next.ask, clock, deadlineMs, signal).catch((error: unknown) => {
				signal.throwIfAborted();
				const { code, message } = SpockError.from(error);
				throw new Error(
					`the sidecar in place goes on, because this one could not learn what it knows: ${name}: ${code}: ${message}`,
					{ cause: error },
				);
			});
		}
	};
	await Promise.all(Array.from({ length: QUESTIONS_AT_ONCE }, ask));
	return atMost(clock, deadlineMs - clock.now(), answered);
}

/** Retries errors that are retryable, for as long as there is time. */
async function untilAnswered(
	ask: () => Promise<unknown>,
	clock: Clock,
	deadlineMs: number,
	signal: AbortSignal,
): Promise<void> {
	for (;;) {
		try {
			await ask();
			return;
		} catch (error) {
			signal.throwIfAborted();
			if (!SpockError.from(error).retryable || clock.now() + ASK_AGAIN_MS >= deadlineMs) throw error;
		}
		await new Promise<void>((resolve) => clock.setTimeout(resolve, ASK_AGAIN_MS));
	}
}

/** The result if it comes within this time, else undefined. */
export async function atMost<T>(clock: Clock, delayMs: number, outcome: Promise<T>): Promise<T | undefined> {
	let timer: ReturnType<Clock['setTimeout']> | undefined;
	const late = new Promise<undefined>((resolve) => {
		timer = clock.setTimeout(() => resolve(undefined), Math.max(0, delayMs));
	});
	try {
		return await Promise.race([outcome, late]);
	} finally {
		clock.clearTimeout(timer);
	}
}
