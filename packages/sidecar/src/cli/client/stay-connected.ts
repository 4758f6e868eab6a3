import { randomUUID } from 'node:crypto';

import { Backoff } from '@spock/protocol/internal';

import { CommandError, EXIT } from '../output/exit-codes.ts';
import { targetOf } from './sidecar-target.ts';
import { WireClient } from './wire-client.ts';
import { asCommandError, type ClientFlags, timeoutOf } from './with-client.ts';

const RETRY_DELAYS = { delayMsMin: 100, delayMsMax: 2000 };

/** What a command does on each of its connections, one after another. */
export interface Stay {
	/** Its name for whoever looks who is connected. */
	readonly client: string;
	/** Asks for what it wants; `held` is to be called once the sidecar has given it, pushes may come from then on. */
	begin(client: WireClient, timeoutMs: number, held: () => void): Promise<void>;
	/** Somebody ended the command while it was connected: what the sidecar is still to be told. */
	end?(client: WireClient, timeoutMs: number): Promise<void>;
	/** Rejects when the command cannot go on, which ends it with that error. Default: it never does. */
	readonly failed?: Promise<never>;
}

/**
 * Holds a connection until Ctrl-C, SIGTERM, or until nobody reads the output any more, which are clean ends. What it wants must
 * be given the first time; after that it waits for a sidecar that restarts, and asks for it again.
 */
export async function stayConnected(flags: ClientFlags, { client: name, begin, end, failed }: Stay): Promise<void> {
	const stopped = new Promise<'stopped'>((resolve) => {
		process.once('SIGINT', () => resolve('stopped'));
		process.once('SIGTERM', () => resolve('stopped'));
		process.stdout.once('error', () => resolve('stopped'));
	});
	const timeoutMs = timeoutOf(flags);
	const target = targetOf(flags);
	const backoff = new Backoff(RETRY_DELAYS);
	const secret = randomUUID();
	let wasEverHeld = false;
	for (;;) {
		let isHeld = false;
		try {
			const client = await WireClient.open(target, timeoutMs, secret);
			try {
				await begin(client, timeoutMs, () => {
					isHeld = true;
				});
				// Only now: what `begin` was answered has told what the first push would.
				await client.request('hello', { versions: [1], client: name, features: ['push', 'goaway'] }, timeoutMs);
				backoff.reset();
				const ends = [stopped, client.closed, client.sentAway.then(() => 'sent away')];
				const why = await Promise.race(failed === undefined ? ends : [...ends, failed]);
				// Another sidecar stands there now, and leaves what it finds registered in peace until somebody comes for it.
				if (why === 'sent away') continue;
				if (why === 'stopped') {
					await end?.(client, timeoutMs);
					return;
				}
			} finally {
				wasEverHeld ||= isHeld;
				client.close();
			}
		} catch (error) {
			if (!wasEverHeld || !isPassing(error)) throw asCommandError(error);
		}
		if (isHeld) process.stderr.write('the sidecar is gone; waiting for it to come back\n');
		if ((await pause(backoff.next(), stopped)) === 'stopped') return;
	}
}

/** True for what waiting mends: a sidecar that is not there, is just ending, or does not know yet. */
function isPassing(error: unknown): boolean {
	if (error instanceof CommandError) return error.exitCode === EXIT.noSidecar;
	return (error as { readonly retryable?: boolean }).retryable === true;
}

async function pause(delayMs: number, stopped: Promise<'stopped'>): Promise<'stopped' | undefined> {
	let timer: NodeJS.Timeout | undefined;
	const due = new Promise<undefined>((resolve) => {
		timer = setTimeout(() => resolve(undefined), delayMs);
	});
	try {
		return await Promise.race([stopped, due]);
	} finally {
		clearTimeout(timer);
	}
}
