import { subscribe, unsubscribe } from 'node:diagnostics_channel';

import type { CallOptions, ConnectMessage, Diplomat } from '@spock/client';

import { type ClientFlags, targetOf, timeoutOf } from './sidecar-target.ts';
import { disconnectOf, openClient } from './with-client.ts';

/** What a command does while it is connected. */
export interface Stay {
	/** Its name for whoever looks who is connected. */
	readonly client: string;
	/**
	 * Asks for what it wants. Rejects if it cannot have it, which ends the command; later the client asks again by itself. From
	 * `given` on, which it may call before it resolves, a lost connection is waited for.
	 */
	begin(client: Diplomat, options: CallOptions, given: () => void): Promise<void>;
	/** The sidecar is gone, or there is one again; what the client tells before that is from before. */
	lost?(): void;
	back?(): void;
	/** The command is stopped, with or without a connection: what the sidecar, or the user, must still be told. */
	end?(client: Diplomat, options: CallOptions): Promise<void>;
	/** Rejects when the command cannot go on, which ends it with that error. Default: it never does. */
	readonly failed?: Promise<never>;
}

/**
 * Holds a connection until Ctrl-C, SIGTERM, or until nobody reads the output any more, which are clean ends. Waits for a sidecar
 * that restarts; one that refuses the client ends the command.
 */
export async function stayConnected(flags: ClientFlags, stay: Stay): Promise<void> {
	const stopped = new Promise<'stopped'>((resolve) => {
		process.once('SIGINT', () => resolve('stopped'));
		process.once('SIGTERM', () => resolve('stopped'));
		process.stdout.once('error', () => resolve('stopped'));
	});
	const timeoutMs = timeoutOf(flags);
	const target = targetOf(flags);
	const { client, failure } = await openClient(target, timeoutMs, stay.client);
	let hasBegun = false;
	let isLost = false;
	const disconnect = disconnectOf(target, ({ error, wasReady }) => {
		// Waiting does not mend a refused hello, and what was never given is not waited for.
		if (!error.retryable || (wasReady && !hasBegun)) return true;
		if (wasReady) {
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
		await stay.end?.(client, { timeoutMs });
	} catch (error) {
		throw failure(error);
	} finally {
		disconnect.stop();
		unsubscribe('spock:client:connect', onConnect);
		await client.close();
	}
}
