import { readFileSync } from 'node:fs';

import type { Logger } from 'pino';

import { DEFAULT_CONNECTIONS_MAX, DEFAULT_STRANGERS_MAX, type SidecarLimits } from '../../foundation/limits.ts';

/** Files that are no clients: sockets to the registry, of which Consul alone may have a hundred, and those of Node itself. */
const RESERVED_MAX = 256;

/** How many connections may be open at once. */
type Connections = Required<Pick<SidecarLimits, 'connectionsMax' | 'strangersMax'>>;

/**
 * How many of the clients and strangers that are `asked` for may be connected so that the process never runs out of files, from the
 * text of `/proc/self/limits` (https://man7.org/linux/man-pages/man5/proc_pid_limits.5.html); all of them where it tells no limit.
 * Node has raised its own limit to the hard one by then. Out of files a connection is accepted and closed by libuv with nobody told,
 * and the registry cannot be asked any more: a client that is refused early is counted, and disturbs nobody.
 */
export function connectionsWithin(limits: string, asked: Connections): Connections {
	const [, text] = /^Max open files\s+(\d+)/m.exec(limits) ?? [];
	if (text === undefined) return asked;
	const files = Number(text);
	// At least half of the files are for clients, and a quarter for strangers, as far as they are asked for.
	const reserved = Math.min(RESERVED_MAX, Math.ceil(files / 4));
	const besides = Math.min(reserved + asked.strangersMax, Math.ceil(files / 2));
	const connectionsMax = Math.max(1, Math.min(asked.connectionsMax, files - besides));
	const strangersMax = Math.max(1, Math.min(asked.strangersMax, files - reserved - connectionsMax));
	return { connectionsMax, strangersMax };
}

/** The limits with no more connections than there may be files; says so where those are fewer than were asked for. */
export function withinOpenFiles(limits: SidecarLimits, log: Pick<Logger, 'info' | 'warn'>): SidecarLimits {
	const { connectionsMax = DEFAULT_CONNECTIONS_MAX, strangersMax = DEFAULT_STRANGERS_MAX } = limits;
	const possible = connectionsWithin(readLimits(), { connectionsMax, strangersMax });
	const fewer = (name: keyof Connections, asked: number, who: string): void => {
		if (possible[name] === asked) return;
		const sentence = `at most ${possible[name]} ${who}, not ${asked}: this process may not open more files (ulimit -n)`;
		log[limits[name] === undefined ? 'info' : 'warn']({ [name]: possible[name] }, sentence);
	};
	fewer('connectionsMax', connectionsMax, 'clients');
	fewer('strangersMax', strangersMax, 'strangers');
	return { ...limits, ...possible };
}

/** What Linux says of this process; nothing on another system. */
function readLimits(): string {
	try {
		return readFileSync('/proc/self/limits', 'utf8');
	} catch {
		return '';
	}
}
