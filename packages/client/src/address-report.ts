import { lstatSync } from 'node:fs';
import { dirname } from 'node:path';

import { formatAddress, type SocketAddress } from '@spock/protocol/node';

/** What is at a path, as far as this process can see. */
export type PathFinding = 'nothing' | 'no directory' | 'no permission' | 'not a socket' | 'socket';

/** Looks at a path, in this tick. Never throws. */
export function lookAtPath(path: string): PathFinding {
	try {
		return lstatSync(path).isSocket() ? 'socket' : 'not a socket';
	} catch (error) {
		const code = errnoOf(error);
		if (code === 'EACCES' || code === 'EPERM') return 'no permission';
		try {
			return lstatSync(dirname(path)).isDirectory() ? 'nothing' : 'no directory';
		} catch (cause) {
			return errnoOf(cause) === 'EACCES' ? 'no permission' : 'no directory';
		}
	}
}

/** What was found at an address, and what to do about it; for people. */
export interface AddressReport {
	readonly address: string;
	/** One word or two for programs: a {@link PathFinding}, `nobody listens`, `no answer`, or `unreachable`. */
	readonly found: PathFinding | 'nobody listens' | 'no answer' | 'unreachable';
	/** A sentence without its full stop. */
	readonly sentence: string;
}

/**
 * Why no connection came about: from the last attempt's error, and from what the file system shows now. `look` replaces
 * the file system in tests.
 */
export function reportAddress(
	address: SocketAddress,
	lastError: unknown,
	look: (path: string) => PathFinding = lookAtPath,
): AddressReport {
	const name = formatAddress(address);
	const code = errnoOf(lastError);
	if ('port' in address) return reportPort(name, code, lastError);
	const { path } = address;
	const start = `start it with \`npx --no-install sidecar start --socket ${path}\``;
	const found = look(path);
	const report = (kind: AddressReport['found'], sentence: string): AddressReport => ({
		address: name,
		found: kind,
		sentence,
	});
	if (found === 'no directory') {
		return report(found, `its directory ${dirname(path)} does not exist: mount or create it, then ${start}`);
	}
	if (found === 'nothing') return report(found, `there is nothing at that path: ${start}`);
	if (found === 'not a socket') return report(found, 'what is there is not a socket: remove it, or give another path');
	if (found === 'no permission' || code === 'EACCES' || code === 'EPERM') {
		const who = "let this process's user or group use the socket (in a pod: the same fsGroup for both containers)";
		return report('no permission', `this process may not use it: ${who}`);
	}
	if (code === 'ECONNREFUSED') {
		const message = 'there is a socket file that nobody listens on, left by a sidecar that is gone';
		return report('nobody listens', `${message}: ${start}`);
	}
	return reportSilence(name, code, lastError);
}

function reportPort(name: string, code: string | undefined, lastError: unknown): AddressReport {
	if (code === 'ECONNREFUSED') {
		const start = `start it with \`npx --no-install sidecar start --listen ${name}\``;
		return { address: name, found: 'nobody listens', sentence: `nobody listens there: ${start}` };
	}
	return reportSilence(name, code, lastError);
}

function reportSilence(address: string, code: string | undefined, lastError: unknown): AddressReport {
	if (code !== undefined) {
		return { address, found: 'unreachable', sentence: `connecting fails with ${messageOf(lastError)}` };
	}
	const detail = lastError === undefined ? '' : ` (${messageOf(lastError)})`;
	const sentence = `somebody accepts connections there but does not answer hello${detail}: check that it is a sidecar, and its log`;
	return { address, found: 'no answer', sentence };
}

/** The errno code of an error or of the error that led to it. */
export function errnoOf(error: unknown): string | undefined {
	for (let current = error, depth = 0; current instanceof Error && depth < 4; current = current.cause, depth++) {
		const { syscall, code } = current as NodeJS.ErrnoException;
		if (syscall !== undefined && typeof code === 'string') return code;
	}
	return undefined;
}

function messageOf(error: unknown): string {
	return error instanceof Error ? error.message : String(error);
}
