import { SpockError } from '@spock/protocol';

import { CommandError, EXIT } from '../output/exit-codes.ts';
import { printable } from '../output/output.ts';
import { type TargetFlags, targetOf } from './sidecar-target.ts';
import { WireClient } from './wire-client.ts';

/** Flags of every command that talks to a sidecar. */
export interface ClientFlags extends TargetFlags {
	readonly timeout: string;
	readonly json?: boolean;
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
	const client = await WireClient.open(targetOf(flags), timeoutMs).catch((error: unknown) => {
		throw asCommandError(error);
	});
	try {
		return await command(client, timeoutMs);
	} catch (error) {
		throw asCommandError(error);
	} finally {
		client.close();
	}
}

/** A failure of the sidecar as what a command prints; `more` is what to do next. */
export function asCommandError(error: unknown, more = ''): unknown {
	if (!SpockError.is(error)) return error;
	const hint = isAboutHello(error) ? '. Give the token with --token-file or SPOCK_TOKEN' : '';
	return new CommandError(
		error.code === 'BAD_REQUEST' ? EXIT.usage : EXIT.failure,
		`${error.code}: ${printable(error.message)}${hint}${more}`,
		{ cause: error },
	);
}

/** True for a failure of the sidecar's own token. That of the registry is refused with the same code, and not given here. */
function isAboutHello({ code, message }: SpockError): boolean {
	return code === 'ACL_DENIED' && /\bhello\b/.test(message);
}
