import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';

import {
	type CallOptions,
	createDiplomat,
	type Diplomat,
	type DiplomatOptions,
	type DisconnectMessage,
	socketTransport,
	type Transport,
} from '@spock/client';
import { FRAME_BYTES_MAX_CEILING, SpockError } from '@spock/protocol';
import { formatAddress } from '@spock/protocol/node';

import { asCommandError, connectionError, timeoutError } from './failures.ts';
import { type ClientFlags, type SidecarTarget, targetOf, timeoutOf } from './sidecar-target.ts';

/** A connected client, and the messages for its errors. */
export interface OpenClient {
	readonly client: Diplomat;
	/** An error of the client as a command prints it: a CommandError, unless it is a bug. */
	failure(error: unknown): unknown;
}

/**
 * Runs a command with a client, and turns a failure of the sidecar into a message and an exit code. The command calls `given` when it has
 * what it needs: from then on the end of a connection, such as that of its consumers, is no failure. `view` are options of the client.
 */
export async function withClient<T>(
	flags: ClientFlags,
	command: (client: Diplomat, options: CallOptions, given: () => void) => Promise<T>,
	view: DiplomatOptions = {},
): Promise<T> {
	const timeoutMs = timeoutOf(flags);
	const target = targetOf(flags);
	const { client, failure } = await openClient(target, timeoutMs, 'sidecar', undefined, view);
	// The client would retry on the next connection, but a person waits for this one.
	const lost = disconnectOf(target, ({ wasReady }) => wasReady);
	try {
		return await Promise.race([command(client, { timeoutMs }, lost.stop), lost.failed]);
	} catch (error) {
		throw failure(error);
	} finally {
		lost.stop();
		await client.close();
	}
}

/**
 * Connects, or rejects with a CommandError as soon as the first attempt has failed, because a person waits for it. `name` is the client's
 * name; `signal` ends the attempt.
 */
export async function openClient(
	target: SidecarTarget,
	timeoutMs: number,
	name: string,
	signal?: AbortSignal,
	view: DiplomatOptions = {},
): Promise<OpenClient> {
	const { address, token } = target;
	let socket: Socket | undefined;
	let wasConnected = false;
	const open: Transport = () => {
		const opened = target.open();
		socket = opened.socket;
		wasConnected = false;
		return socket.once(opened.connected, () => {
			wasConnected = true;
		});
	};
	const client = createDiplomat({
		...('path' in address ? { path: address.path } : { host: address.host, port: address.port }),
		...(token !== undefined && { token }),
		...view,
		...{ name, timeoutMs, readyTimeoutMs: timeoutMs, dialTimeoutMs: timeoutMs },
		// It must accept whatever a sidecar may send.
		frameBytesMax: FRAME_BYTES_MAX_CEILING,
		transport: Object.assign(open, target.transport === 'unix' && { mark: socketTransport.mark }),
	});
	const failure = (error: unknown): unknown => {
		if (!SpockError.is(error)) return error;
		const { code, details } = error;
		// A time limit of the sidecar, such as that of its registry, has a message of its own.
		if (code === 'TIMEOUT' && details['timeoutMs'] !== undefined) return timeoutError(target, timeoutMs, wasConnected);
		if (code === 'DISCONNECTED') return connectionError(target, systemErrorOf(error), { socket, wasConnected });
		return asCommandError(error);
	};
	const attempt = disconnectOf(target, () => true);
	try {
		await Promise.race([client.ready({ signal }), attempt.failed]);
		return { client, failure };
	} catch (error) {
		await client.close();
		throw failure(error);
	} finally {
		attempt.stop();
	}
}

/** Rejects at the first disconnect that `ends` the command; the client by itself would connect again. */
export function disconnectOf(
	{ address }: SidecarTarget,
	ends: (message: DisconnectMessage) => boolean,
): { readonly failed: Promise<never>; stop(): void } {
	const { failed, fail } = commandFailure();
	const listener = (data: unknown): void => {
		const message = data as DisconnectMessage;
		if (message.address === formatAddress(address) && ends(message)) fail(message.error);
	};
	subscribe('spock:client:disconnect', listener);
	return { failed, stop: () => void unsubscribe('spock:client:disconnect', listener) };
}

/** What ends a command that is under way: a promise that `fail` rejects, also before anything awaits it. */
export function commandFailure(): { readonly failed: Promise<never>; readonly fail: (error: unknown) => void } {
	let fail: (error: unknown) => void = () => undefined;
	const failed = new Promise<never>((_resolve, reject) => {
		fail = reject;
	});
	failed.catch(() => undefined);
	return { failed, fail };
}

/** The system error of Node among the causes, if there is one. */
function systemErrorOf(error: Error): NodeJS.ErrnoException | undefined {
	for (let cause: unknown = error.cause; cause instanceof Error; cause = cause.cause) {
		if (!SpockError.is(cause)) return cause;
	}
	return undefined;
}
