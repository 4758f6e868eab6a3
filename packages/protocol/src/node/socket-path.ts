import { dirname } from 'node:path';

import { formatHostPort, splitHostPort } from '../foundation/host-port.ts';
import { DENIED_BY_NODE, lstatOf } from './stat.ts';

/** The volume that a pod shares between the app and its sidecar. */
export const POD_SOCKET_DIRECTORY = '/uds';
/** Name of the socket inside its directory. */
export const SOCKET_FILE_NAME = 'sidecar.sock';
/** The environment variable that names the socket for both sides. */
export const SOCKET_PATH_VARIABLE = 'SPOCK_SOCKET';

/** The parts of the process that decide where the socket is; given, never taken. */
export interface SocketPathFacts {
	/** The environment; only SPOCK_SOCKET is looked at. */
	readonly env: Readonly<Record<string, string | undefined>>;
	/** The user id; undefined where there is none. */
	readonly uid: number | undefined;
	/** True if this path is a directory. Default: asks the file system. */
	readonly isDirectory?: (path: string) => boolean;
}

/**
 * Where the sidecar's socket is when nobody says: the one rule that both sides follow.
 * SPOCK_SOCKET; else `/uds/sidecar.sock` where there is a directory `/uds` (a pod); else
 * `/tmp/spock-<uid>/sidecar.sock`, in a directory that only this user can enter. TMPDIR is not followed, because two
 * processes of one user may have different ones and would not meet. Throws where Node's permission model denies a look at `/uds`.
 */
export function defaultSocketPath(facts: SocketPathFacts): string {
	return defaultSocketAddress(facts).path;
}

/** As `defaultSocketPath`, and whether the path is in the directory of the user, which both sides check. */
export function defaultSocketAddress(facts: SocketPathFacts): SocketPath {
	const fromEnvironment = facts.env[SOCKET_PATH_VARIABLE];
	if (fromEnvironment !== undefined && fromEnvironment !== '') return { path: fromEnvironment };
	const isDirectory = facts.isDirectory ?? isRealDirectory;
	if (isDirectory(POD_SOCKET_DIRECTORY)) return { path: `${POD_SOCKET_DIRECTORY}/${SOCKET_FILE_NAME}` };
	return { path: `/tmp/spock-${facts.uid ?? 'user'}/${SOCKET_FILE_NAME}`, isPrivate: true };
}

/** The code of the error of {@link assertPrivateDirectory}. */
export const UNTRUSTED_DIRECTORY = 'ERR_UNTRUSTED_DIRECTORY';

/**
 * Throws for a directory that another user owns or may change: in /tmp anyone may have made it first, and a socket in it
 * would be theirs. Throws as well if there is none. `uid` is the user's own; undefined where there are none.
 */
export function assertPrivateDirectory(directory: string, uid: number | undefined): void {
	const found = lstatOf(directory);
	const facts = { syscall: 'lstat', path: directory };
	if (found === undefined) {
		throw Object.assign(new Error(`ENOENT: there is no directory ${directory}`), { code: 'ENOENT', ...facts });
	}
	if (found.isDirectory() && (uid === undefined || Number(found.uid) === uid) && (found.mode & 0o022n) === 0n) return;
	const hint = `remove it, or choose another path (--socket, ${SOCKET_PATH_VARIABLE})`;
	const error = new Error(`${directory} is not a directory that only this user may change: ${hint}`);
	throw Object.assign(error, { code: UNTRUSTED_DIRECTORY, ...facts });
}

/** Throws, as {@link assertPrivateDirectory} does, before a connection to a path whose directory is not what it must be. */
export function assertTrustedAddress(address: SocketAddress, uid: number | undefined): void {
	if ('path' in address && address.isPrivate === true) assertPrivateDirectory(dirname(address.path), uid);
}

/** Longest path of a unix domain socket in bytes. Longer ones are silently cut by the kernel's interface. */
export function socketPathBytesMax(platform: string): number {
	return platform === 'linux' ? 107 : 103;
}

/** Throws a RangeError if the path is too long for a unix domain socket on this platform; `path` is named in it. */
export function assertSocketPathFits(path: string, platform: string): void {
	const bytes = Buffer.byteLength(path);
	const bytesMax = socketPathBytesMax(platform);
	if (bytes > bytesMax) {
		throw new RangeError(`the socket path is ${bytes} bytes long, ${platform} allows ${bytesMax}: ${path}`);
	}
}

/** The path of a unix domain socket. */
export interface SocketPath {
	readonly path: string;
	/** Present, and true, for the default path in the user's own directory: see {@link assertTrustedAddress}. */
	readonly isPrivate?: true;
}

/** Where a sidecar listens or a client connects. */
export type SocketAddress = SocketPath | { readonly host: string; readonly port: number };

/** The address as people write it: a path, or `host:port` with brackets round an IPv6 address. */
export function formatAddress(address: SocketAddress): string {
	if ('path' in address) return address.path;
	return formatHostPort(address);
}

/**
 * Reads `host:port`, `[::1]:port`, `::1:port` or `:port` (loopback). Throws a RangeError that shows the text. Port 0 asks the kernel
 * for a free one.
 */
export function parseHostPort(text: string): { host: string; port: number } {
	const { host = '', port } = splitHostPort(text) ?? {};
	if (port === undefined) throw new RangeError(`expected HOST:PORT, [IPV6]:PORT or :PORT, got ${JSON.stringify(text)}`);
	return { host: host === '' ? '127.0.0.1' : host, port };
}

/** The directory of the socket. */
export function socketDirectory(path: string): string {
	return dirname(path);
}

function isRealDirectory(path: string): boolean {
	try {
		return lstatOf(path)?.isDirectory() ?? false;
	} catch (error) {
		const { code, message } = error as NodeJS.ErrnoException;
		if (code === DENIED_BY_NODE) (error as Error).message = `${message}, or name the socket by ${SOCKET_PATH_VARIABLE}`;
		throw error;
	}
}
