import { lstatSync } from 'node:fs';
import { dirname } from 'node:path';

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
 * processes of one user may have different ones and would not meet.
 */
export function defaultSocketPath(facts: SocketPathFacts): string {
	const fromEnvironment = facts.env[SOCKET_PATH_VARIABLE];
	if (fromEnvironment !== undefined && fromEnvironment !== '') return fromEnvironment;
	const isDirectory = facts.isDirectory ?? isRealDirectory;
	if (isDirectory(POD_SOCKET_DIRECTORY)) return `${POD_SOCKET_DIRECTORY}/${SOCKET_FILE_NAME}`;
	return `/tmp/spock-${facts.uid ?? 'user'}/${SOCKET_FILE_NAME}`;
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

/** Where a sidecar listens or a client connects. */
export type SocketAddress = { readonly path: string } | { readonly host: string; readonly port: number };

/** The address as people write it: a path, or `host:port` with brackets round an IPv6 address. */
export function formatAddress(address: SocketAddress): string {
	if ('path' in address) return address.path;
	return address.host.includes(':') ? `[${address.host}]:${address.port}` : `${address.host}:${address.port}`;
}

/**
 * Reads `host:port`, `[::1]:port` or `:port` (loopback). Throws a RangeError that shows the text. Port 0 asks the kernel
 * for a free one.
 */
export function parseHostPort(text: string): { host: string; port: number } {
	const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]\s]*)):(\d{1,5})$/.exec(text);
	const port = match === null ? Number.NaN : Number(match[3]);
	if (match === null || port > 65_535) {
		throw new RangeError(`expected HOST:PORT, [IPV6]:PORT or :PORT, got ${JSON.stringify(text)}`);
	}
	return { host: match[1] ?? (match[2] === '' ? '127.0.0.1' : (match[2] as string)), port };
}

/** The directory of the socket. */
export function socketDirectory(path: string): string {
	return dirname(path);
}

function isRealDirectory(path: string): boolean {
	return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
