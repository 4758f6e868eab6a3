import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';

import { SpockError } from '@spock/protocol';
import { messageOf } from '@spock/protocol/internal';
import { formatAddress } from '@spock/protocol/node';
import { formatDuration } from '../output/figures.ts';
import { CommandError, EXIT, printable } from '../output/output.ts';
import { placeOf, startHint } from './place.ts';
import type { SidecarTarget } from './sidecar-target.ts';

/** Facts about a failed connection. */
export interface FailedConnection {
	/** Undefined if it could not even be opened. */
	readonly socket: Socket | undefined;
	/** True if it was established for a while. */
	readonly wasConnected: boolean;
}

/** A command's message for a connection that failed or ended: what happened, and what to do. */
export function connectionError(
	target: SidecarTarget,
	cause: NodeJS.ErrnoException | undefined,
	{ socket, wasConnected }: FailedConnection,
): CommandError {
	const { name, transport } = target;
	if (cause !== undefined && isUntrusted(socket)) return untrusted(name, cause);
	if (cause?.code === 'EACCES' || cause?.code === 'EPERM') return forbidden(name, cause);
	if (cause !== undefined && !wasConnected) return noSidecar(name, reasonOf(cause, target), cause);
	const why = cause === undefined ? '' : `: ${messageOf(cause)}`;
	// A listener with TLS sees plain bytes as a broken handshake, and sends nothing readable.
	const isSilent = transport === 'tcp' && (socket?.bytesRead ?? 0) === 0;
	const hint = isSilent ? `. If it speaks TLS: --connect tls://${formatAddress(target.address)}` : '';
	return new CommandError(EXIT.noSidecar, `the sidecar at ${name} closed the connection${why}${hint}`, { cause });
}

/** Nothing was accepted, or answered, within the time limit. */
export function timeoutError({ name }: SidecarTarget, timeoutMs: number, wasConnected: boolean): CommandError {
	if (!wasConnected) return noSidecar(name, `it did not accept the connection within ${formatDuration(timeoutMs)}`);
	const message = `the sidecar at ${name} did not answer within ${formatDuration(timeoutMs)}; --timeout allows more`;
	return new CommandError(EXIT.failure, message, { code: 'TIMEOUT' });
}

/** A failure of the sidecar as a command prints it; `more` says what to do next. Returns any other error unchanged. */
export function asCommandError(error: unknown, more = ''): unknown {
	if (!SpockError.is(error)) return error;
	const hint = isAboutHello(error) ? '. Give the token with --token-file or SPOCK_TOKEN' : '';
	return new CommandError(
		error.code === 'BAD_REQUEST' ? EXIT.usage : EXIT.failure,
		`${error.code}: ${printable(error.message)}${hint}${more}`,
		{ cause: error },
	);
}

/** True for a refusal of the sidecar's own token. The registry's token is refused with the same code, but not given here. */
function isAboutHello({ code, message }: SpockError): boolean {
	return code === 'ACL_DENIED' && /\bhello\b/.test(message);
}

/** True for a TLS socket whose peer has a certificate that was not accepted. */
function isUntrusted(socket: Socket | undefined): boolean {
	return Boolean((socket as Partial<TLSSocket> | undefined)?.authorizationError);
}

function untrusted(address: string, cause: NodeJS.ErrnoException): CommandError {
	const message = `the certificate of the sidecar at ${address} is not trusted: ${messageOf(cause)}`;
	// Another authority would not help with either.
	const isOwnFault = cause.code === 'CERT_HAS_EXPIRED' || cause.code === 'ERR_TLS_CERT_ALTNAME_INVALID';
	const hint = isOwnFault ? '' : '. Name the authority that issued it with --tls-ca or SPOCK_CONNECT_CA';
	return new CommandError(EXIT.noSidecar, `${message}${hint}`, { cause });
}

/** A socket exists, so starting another sidecar would not help. */
function forbidden(address: string, cause: NodeJS.ErrnoException): CommandError {
	const message = `no permission to connect to ${address}: this user may not write to the socket, or not enter its directory`;
	return new CommandError(EXIT.noSidecar, `${message}. Run this as the sidecar's user, or in the group of the socket`, {
		cause,
	});
}

function noSidecar(address: string, reason: string, cause?: Error): CommandError {
	const message = `no sidecar at ${address}: ${reason}. ${startHint(placeOf(process.env))}`;
	return new CommandError(EXIT.noSidecar, message, { cause });
}

function reasonOf(error: NodeJS.ErrnoException, { transport }: SidecarTarget): string {
	switch (error.code) {
		case 'ENOENT':
			return 'nothing exists at that path';
		case 'ECONNREFUSED':
			return `no process listens there${transport === 'unix' ? ' (the socket of a sidecar that has died)' : ''}`;
		case 'ENOTSOCK':
			return 'the file at that path is not a socket';
		default:
			return messageOf(error);
	}
}
