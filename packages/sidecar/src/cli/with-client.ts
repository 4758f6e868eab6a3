import { SpockError } from '@spock/protocol';
import { assertSocketPathFits, defaultSocketPath, parseHostPort, type SocketAddress } from '@spock/protocol/node';

import { CommandError, EXIT } from './exit-codes.ts';
import { WireClient } from './wire-client.ts';

/** Flags of every command that talks to a sidecar. */
export interface ClientFlags {
	readonly socket?: string;
	readonly connect?: string;
	readonly timeout: string;
	readonly json?: boolean;
}

/** The address that the flags name, else the one that both sides agree on. */
export function addressOf({ socket, connect }: ClientFlags): SocketAddress {
	if (socket !== undefined && connect !== undefined) {
		throw new CommandError(EXIT.usage, 'give either --socket or --connect');
	}
	try {
		if (connect !== undefined) return parseHostPort(connect);
		const path = socket ?? defaultSocketPath({ env: process.env, uid: process.getuid?.() });
		assertSocketPathFits(path, process.platform);
		return { path };
	} catch (error) {
		throw new CommandError(EXIT.usage, (error as Error).message, { cause: error });
	}
}

/** The time-out that the flags name, in milliseconds. */
export function timeoutOf({ timeout }: ClientFlags): number {
	const timeoutMs = Number(timeout);
	if (!Number.isInteger(timeoutMs) || timeoutMs < 1 || timeoutMs > 2 ** 31 - 1) {
		throw new CommandError(EXIT.usage, `--timeout must be a whole number of milliseconds from 1, not ${timeout}`);
	}
	return timeoutMs;
}

/** Runs a command over one connection, and turns a failure of the sidecar into a message and exit code 1. */
export async function withClient<T>(
	flags: ClientFlags,
	command: (client: WireClient, timeoutMs: number) => Promise<T>,
): Promise<T> {
	const timeoutMs = timeoutOf(flags);
	const client = await WireClient.open(addressOf(flags), timeoutMs);
	try {
		return await command(client, timeoutMs);
	} catch (error) {
		throw asCommandError(error);
	} finally {
		client.close();
	}
}

/** A failure of the sidecar as what a command prints. */
export function asCommandError(error: unknown): unknown {
	if (!SpockError.is(error)) return error;
	return new CommandError(error.code === 'BAD_REQUEST' ? EXIT.usage : EXIT.failure, `${error.code}: ${error.message}`, {
		cause: error,
	});
}

/** Prints a line on stdout. */
export function print(line: string): void {
	process.stdout.write(`${line}\n`);
}
