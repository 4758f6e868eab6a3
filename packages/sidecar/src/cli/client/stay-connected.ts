import { subscribe, unsubscribe } from 'node:diagnostics_channel';

import type { CallOptions, ConnectMessage, Diplomat } from '@spock/client';

import { type ClientFlags, targetOf, timeoutOf } from './sidecar-target.ts';
import { disconnectOf, openClient } from './with-client.ts';

/** What a command does while it is connected. */
export interface Stay {
	/** The client's name in status and log. */
	readonly client: string;
	/**
	 * Makes the first request. A rejection ends the command; later the client repeats the request by itself. After `given`, which it
	 * may call before it resolves, the command waits for a lost connection to return.
	 */
	begin(client: Diplomat, options: CallOptions, given: () => void): Promise<void>;
	/** The sidecar is gone, or a client is connected again; what the client reported before that is outdated. */
	lost?(): void;
	back?(): void;
	/** The command was stopped, with or without a connection: what the sidecar, or the user, must still be sent. */
	end?(options: CallOptions): Promise<void>;
	/** Rejects when the command cannot go on, which ends it with that error. Default: never. */
	readonly failed?: Promise<never>;
}

/**
 * Holds a connection until Ctrl-C, SIGTERM, or the output is closed, which are clean ends, also while it connects. Waits for a sidecar
 * that restarts; one that refuses the client ends the command.
 */
export async function stayConnected(flags: ClientFlags, stay: Stay): Promise<void> {
	const stop = new AbortController();
	const stopped = new Promise<'stopped'>((resolve) => {
		stop.signal.addEventListener('abort', () => resolve('stopped'));
	});
	process.once('SIGINT', () => stop.abort());
	process.once('SIGTERM', () => stop.abort());
	process.stdout.once('error', () => stop.abort());
	const timeoutMs = timeoutOf(flags);
	const target = targetOf(flags);
	const opened = await openClient(target, timeoutMs, stay.client, stop.signal).catch((error: unknown) => {
		if (!stop.signal.aborted) throw error;
	});
	if (opened === undefined) return stay.end?.({ timeoutMs });
	const { client, failure } = opened;
	let hasBegun = false;
	let isLost = false;
	const disconnect = disconnectOf(target, ({ error, wasReady }) => {
		// Waiting does not fix a refused hello, and a connection that never gave anything is not waited for.
		if (!error.retryable || (wasReady && !hasBegun)) return true;
		// Once, for a command that has a further connection for its events.
		if (wasReady && !isLost) {
			isLost = true;
			process.stderr.write('the sidecar is gone; waiting for it to come back\n');
			stay.lost?.();
		}
		return false;
	});
	const onConnect = (message: unknown): void => {
		if (!(message as ConnectMessage).again) return;
		if (isLost) process.stderr.write('the sidecar is back\n');
		isLost = false;
		stay.back?.();
	};
	subscribe('spock:client:connect', onConnect);
	try {
		const given = (): void => {
			hasBegun = true;
		};
		const begun = stay.begin(client, { timeoutMs }, given).then(given);
		const why = await Promise.race([begun, stopped, disconnect.failed]);
		const ends = stay.failed === undefined ? [stopped] : [stopped, stay.failed];
		if (why !== 'stopped') await Promise.race([...ends, disconnect.failed]);
		await stay.end?.({ timeoutMs });
	} catch (error) {
		throw failure(error);
	} finally {
		disconnect.stop();
		unsubscribe('spock:client:connect', onConnect);
		await client.close();
	}
}
