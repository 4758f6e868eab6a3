import { Backoff } from '@spock/protocol/internal';

import { type TargetFlags, targetOf } from '../client/sidecar-target.ts';
import { CommandError, EXIT } from '../output/output.ts';
import { durationMessage, readDurationMs, showDuration } from '../settings/setting.ts';
import { askReady } from './health.ts';
import { dieOf, runCommand, SignalRelay } from './run-command.ts';

/** Flags of `sidecar wait`. */
export interface WaitFlags extends TargetFlags {
	/** As {@link readDurationMs} reads it; 0 for no end. Default {@link DEFAULT_WAIT}. */
	readonly timeout?: string;
}

export const DEFAULT_WAIT = '60s';
/** As timeout(1) has it: no command is likely to end with it by itself. */
export const TIMED_OUT = 124;

/** How often it asks: quick at first, because most waits are short. */
const ASK_DELAYS = { delayMsMin: 20, delayMsMax: 250 };
/** A sidecar that takes longer than this to answer is asked again. */
const ANSWER_MS = 5000;

/**
 * `sidecar wait [-- COMMAND…]`: waits until the sidecar is ready, as `health` says it, then runs the command, if there is one.
 * Gives the exit code. A signal that comes before the command was started ends it at once.
 */
export async function wait(command: readonly string[], flags: WaitFlags): Promise<number> {
	const { timeout = DEFAULT_WAIT } = flags;
	const timeoutMs = readDurationMs(timeout);
	if (timeoutMs === undefined) {
		throw new CommandError(EXIT.usage, `${durationMessage('--timeout', timeout)}; 0 for no end`);
	}
	const signals = new SignalRelay((signal) => {
		// A window that changes its size ends nothing.
		if (signal === 'SIGWINCH') return;
		signals.close();
		process.exit(dieOf(signal));
	});
	try {
		await untilReady(flags, timeoutMs);
		return command.length === 0 ? EXIT.ok : await runCommand(command, signals);
	} finally {
		signals.close();
	}
}

async function untilReady(flags: WaitFlags, timeoutMs: number): Promise<void> {
	const { name } = targetOf(flags);
	const backoff = new Backoff(ASK_DELAYS);
	const deadlineMs = timeoutMs === 0 ? Number.POSITIVE_INFINITY : performance.now() + timeoutMs;
	let reason = '';
	for (;;) {
		const leftMs = Math.ceil(deadlineMs - performance.now());
		if (leftMs <= 0) {
			const message = `the sidecar at ${name} was not ready within ${showDuration(timeoutMs)} (--timeout): ${reason}`;
			throw new CommandError(TIMED_OUT, message);
		}
		const notReady = await askOnce(flags, Math.min(leftMs, ANSWER_MS));
		if (notReady === undefined) return;
		// A try that the deadline cut short says less than the one before.
		if (reason === '' || performance.now() < deadlineMs) reason = notReady;
		await new Promise((resolve) => setTimeout(resolve, Math.min(backoff.next(), leftMs)));
	}
}

/** Why it is not ready yet. Rejects with errors that waiting cannot fix. */
async function askOnce(flags: TargetFlags, timeoutMs: number): Promise<string | undefined> {
	try {
		return (await askReady(flags, timeoutMs)).notReady;
	} catch (error) {
		if (!(error instanceof CommandError) || error.exitCode === EXIT.usage || isRefusal(error)) throw error;
		return error.message;
	}
}

/** The sidecar answers, and will answer the same again: a token that it does not know, say. */
function isRefusal({ cause }: CommandError): boolean {
	return (cause as { readonly retryable?: boolean } | undefined)?.retryable === false;
}
