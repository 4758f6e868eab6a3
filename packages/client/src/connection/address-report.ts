import { dirname } from 'node:path';
import { SpockError } from '@spock/protocol';
import { isError } from '@spock/protocol/internal';
import { DENIED_BY_NODE, formatAddress, lstatOf, type SocketAddress, UNTRUSTED_DIRECTORY } from '@spock/protocol/node';

/** How deep causes are followed: an error may be its own cause. */
const CAUSES_MAX = 4;

/** What is at a path, as far as this process can see. */
export type PathFinding = 'nothing' | 'no directory' | 'no permission' | 'not a socket' | 'socket' | 'unknown';

/** Looks at a path, in this tick. Never throws. */
export function lookAtPath(path: string): PathFinding {
	try {
		const found = lstatOf(path);
		if (found !== undefined) return found.isSocket() ? 'socket' : 'not a socket';
		return lstatOf(dirname(path))?.isDirectory() === true ? 'nothing' : 'no directory';
	} catch (error) {
		const code = errnoOf(error);
		// It may be allowed to connect there all the same.
		if (code === DENIED_BY_NODE) return 'unknown';
		return isPermission(code) ? 'no permission' : 'no directory';
	}
}

/** What was found at an address, and what to do about it; for people. */
export interface AddressReport {
	readonly address: string;
	/** One word or two for programs: a {@link PathFinding}, `not listening`, `no answer`, `denied`, `permission model`, `tls`, `untrusted directory`, or `unreachable`. */
	readonly found:
		| PathFinding
		| 'not listening'
		| 'no answer'
		| 'denied'
		| 'permission model'
		| 'tls'
		| 'untrusted directory'
		| 'unreachable';
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
	const [found, sentence] = explain(address, name, lastError, look);
	return { address: name, found, sentence };
}

function explain(
	address: SocketAddress,
	name: string,
	lastError: unknown,
	look: (path: string) => PathFinding,
): [found: AddressReport['found'], sentence: string] {
	if (SpockError.is(lastError, 'ACL_DENIED')) {
		return ['denied', `it refuses this client: ${lastError.message} (option \`token\`)`];
	}
	const code = errnoOf(lastError);
	const isPath = 'path' in address;
	// It must be right on a developer's machine and in a container, since a library does not ask where it runs.
	const inPod = `in a pod check that its container runs${isPath ? ' and mounts the same volume' : ''}`;
	const start = `start a sidecar (\`sidecar start --${isPath ? 'socket' : 'listen'} ${name}\`; ${inPod})`;
	const found = isPath ? look(name) : undefined;
	if (code === DENIED_BY_NODE) {
		return ['permission model', `Node's permission model does not let this process connect: ${messageOf(lastError)}`];
	}
	if (code === UNTRUSTED_DIRECTORY) return ['untrusted directory', messageOf(lastError)];
	if (found === 'no directory') {
		return [found, `its directory ${dirname(name)} does not exist: mount or create it, then ${start}`];
	}
	if (found === 'nothing') return [found, `there is nothing at that path: ${start}`];
	if (found === 'not a socket') return [found, 'that path is not a socket: remove the file, or give another path'];
	if (found === 'no permission' || (isPath && isPermission(code))) {
		const who = 'give its user or group access to the socket (in a pod: the same fsGroup for both containers)';
		return ['no permission', `this process lacks permission: ${who}`];
	}
	if (code === 'ECONNREFUSED') {
		const what = isPath
			? 'no process listens on the socket file, which a sidecar that ended has left'
			: 'no process listens there';
		return ['not listening', `${what}: ${start}`];
	}
	const message = messageOf(lastError);
	const tlsCode = tlsCodeOf(lastError);
	if (tlsCode !== undefined) return ['tls', `the TLS connection fails with ${tlsCode}: ${message}`];
	if (code !== undefined) return ['unreachable', `connecting fails with ${message}`];
	const detail = lastError === undefined ? '' : ` (${message})`;
	const sentence = `a process accepts connections there but does not answer hello${detail}: check that it is a sidecar${isPath ? '' : ', whether it wants TLS'}, and its log`;
	return ['no answer', sentence];
}

function messageOf(error: unknown): string {
	return isError(error) ? error.message : String(error);
}

/** The code of a failed TLS handshake, or of a certificate that is not trusted. */
function tlsCodeOf(error: unknown): string | undefined {
	for (const { code } of causes(error)) {
		if (typeof code === 'string' && /CERT|TLS|SSL|SIGNATURE|EPROTO/.test(code)) return code;
	}
	return undefined;
}

function isPermission(code: string | undefined): boolean {
	return code === 'EACCES' || code === 'EPERM';
}

/** The errno code of an error or of the error that led to it. */
export function errnoOf(error: unknown): string | undefined {
	for (const { syscall, code } of causes(error)) {
		if (syscall !== undefined && typeof code === 'string') return code;
	}
	return undefined;
}

/** The error and what led to it, outermost first. */
function* causes(error: unknown): Iterable<NodeJS.ErrnoException> {
	let current = error;
	for (let depth = 0; isError(current) && depth < CAUSES_MAX; depth++) {
		yield current;
		current = current.cause;
	}
}

/** A half-sentence for people: why there is no connection. */
export function whyNotReady(address: SocketAddress, lastError: unknown): string {
	const { sentence } = reportAddress(address, lastError);
	return `there is no connection to the sidecar at ${formatAddress(address)}: ${sentence}`;
}

/** TIMEOUT of who waited for a sidecar; `details.found` says in a word what is at the address. */
export function notReadyError(address: SocketAddress, lastError: unknown, timeoutMs: number): SpockError {
	const { address: name, found, sentence } = reportAddress(address, lastError);
	const message = `no sidecar answered at ${name} within ${timeoutMs} ms: ${sentence}`;
	return new SpockError('TIMEOUT', message, { details: { address: name, found, timeoutMs }, cause: lastError });
}
