import { readFileSync } from 'node:fs';

import type { Logger } from 'pino';

import { limitTable, type NumericLimit, type SidecarLimits } from '../../foundation/limits.ts';
import { givenSettings, type Settings, TERMINAL_LIMITS } from '../settings/settings.ts';

/** The limits that were given; at a terminal the end is quicker, and there are no more connections than there may be files. */
export function limitsOf(settings: Settings, isTerminal: boolean, log: Pick<Logger, 'info' | 'warn'>): SidecarLimits {
	const given = givenSettings(settings, Object.keys(limitTable) as NumericLimit[]);
	return withinOpenFiles({ ...(isTerminal && TERMINAL_LIMITS), ...given, policy: settings.policy.value }, log);
}

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
	const { connectionsMax = limitTable.connectionsMax.default, strangersMax = limitTable.strangersMax.default } = limits;
	const possible = possibleConnections({ connectionsMax, strangersMax });
	const fewer = (name: keyof Connections, asked: number): void => {
		if (possible[name] === asked) return;
		const facts = { [name]: possible[name], asked };
		log[limits[name] === undefined ? 'info' : 'warn'](facts, 'fewer connections: open files are limited (ulimit -n)');
	};
	fewer('connectionsMax', connectionsMax);
	fewer('strangersMax', strangersMax);
	return { ...limits, ...possible };
}

/** As {@link connectionsWithin}, for this process. */
export function possibleConnections(asked: Connections): Connections {
	return connectionsWithin(readLimits(), asked);
}

/** What Linux says of this process; nothing on another system. */
function readLimits(): string {
	try {
		return readFileSync('/proc/self/limits', 'utf8');
	} catch {
		return '';
	}
}
