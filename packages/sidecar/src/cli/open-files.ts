import { readFileSync } from 'node:fs';

import type { Logger } from 'pino';

import { DEFAULT_CONNECTIONS_MAX, type SidecarLimits } from '../options.ts';

/** Files that are no clients: sockets to the registry, of which Consul alone may have a hundred, and those of Node itself. */
const RESERVED_MAX = 256;

/**
 * How many clients may be connected so that the process never runs out of files, from the text of `/proc/self/limits`
 * (https://man7.org/linux/man-pages/man5/proc_pid_limits.5.html); undefined where it tells no limit. Node has raised its
 * own limit to the hard one by then. Out of files a connection is accepted and closed by libuv with nobody told, and the
 * registry cannot be asked any more: a client that is refused early is counted, and disturbs nobody.
 */
export function connectionsWithin(limits: string): number | undefined {
	const [, text] = /^Max open files\s+(\d+)/m.exec(limits) ?? [];
	if (text === undefined) return undefined;
	const files = Number(text);
	return Math.max(1, files - Math.min(RESERVED_MAX, Math.ceil(files / 2)));
}

/** The limits with no more connections than there may be files; says so where that is less than was asked for. */
export function withinOpenFiles(limits: SidecarLimits, log: Pick<Logger, 'info' | 'warn'>): SidecarLimits {
	const { connectionsMax = DEFAULT_CONNECTIONS_MAX } = limits;
	const possible = connectionsWithin(readLimits());
	if (possible === undefined || possible >= connectionsMax) return limits;
	const sentence = `at most ${possible} clients, not ${connectionsMax}: this process may not open more files (ulimit -n)`;
	log[limits.connectionsMax === undefined ? 'info' : 'warn']({ connectionsMax: possible }, sentence);
	return { ...limits, connectionsMax: possible };
}

/** What Linux says of this process; nothing on another system. */
function readLimits(): string {
	try {
		return readFileSync('/proc/self/limits', 'utf8');
	} catch {
		return '';
	}
}
