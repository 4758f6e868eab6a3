import type { SidecarLimits } from '../../foundation/limits.ts';
import { integerOf, type Setting, type Settings, textOf } from './setting.ts';

/** Whoever presses Ctrl-C sits there and waits. */
const TERMINAL_DRAIN_TIMEOUT_MS = 2000;

/** The limits of `SidecarLimits` that are numbers and have a flag here; each is named as its option. */
const LIMITS: readonly (readonly [name: keyof SidecarLimits, unit: string, help: string, fallback: string])[] = [
	['frameBytesMax', 'bytes', 'longest frame', '1048576'],
	['inFlightMax', 'count', 'requests of one connection waiting for an answer', '65536'],
	['inFlightTotalMax', 'count', 'requests of all connections waiting for an answer', '262144'],
	['connectionsMax', 'count', 'connections at once', '10000, less where the process may open fewer files'],
	['strangersMax', 'count', 'TCP connections that have shown no token yet; the oldest makes room', '1024'],
	['subscriptionsMax', 'count', 'subscriptions of one connection to services; the same number to keys', '4096'],
	['outputBytesMax', 'bytes', 'unread output of one client above which the sidecar stops reading from it', '8388608'],
	['outputTotalBytesMax', 'bytes', 'unread output of all clients above which they share this', '268435456'],
	['slowConsumerMs', 'ms', 'how long a client may leave that much unread before it is closed', '30000'],
	['partialFrameMs', 'ms', 'how long a frame may take from its first byte to its last', '30000'],
	['handshakeMs', 'ms', 'how long a new connection may take to its first frame, or with a token to its hello', '30000'],
	['badFramesInARowMax', 'count', 'invalid frames in a row after which a connection is closed', '16'],
	['framesPerTurnMax', 'count', 'frames of one connection that are handled before the others have their turn', '64'],
	['loopDelayMsMax', 'ms', 'delay of the event loop above which the busiest clients are slowed down', '50'],
	['backlog', 'count', 'connections that the kernel holds until they are accepted', '4096'],
];

/** The settings of the limits. */
export const limitSettings: readonly Setting[] = LIMITS.map(([name, unit, help, fallback]) => {
	const words = name.replace(/[A-Z]/g, (letter) => ` ${letter}`).split(' ');
	return {
		name,
		flag: `--${words.join('-').toLowerCase()} <${unit}>`,
		env: `SPOCK_${words.join('_').toUpperCase()}`,
		help,
		kind: 'integer',
		fallback,
	};
});

/** Every limit that was set; at a terminal the end is quicker. */
export function limitsOf(settings: Settings, isTerminal: boolean): SidecarLimits {
	const graceMs = integerOf(settings, 'graceMs') ?? (isTerminal ? 0 : undefined);
	const drainTimeoutMs = integerOf(settings, 'drainTimeoutMs') ?? (isTerminal ? TERMINAL_DRAIN_TIMEOUT_MS : undefined);
	const policy = textOf(settings, 'policy') as SidecarLimits['policy'];
	return {
		...limitsFrom(settings),
		...(graceMs !== undefined && { graceMs }),
		...(drainTimeoutMs !== undefined && { drainTimeoutMs }),
		...(policy && { policy }),
	};
}

/** The limits that have a flag and were set. */
function limitsFrom(settings: Settings): SidecarLimits {
	const set = LIMITS.flatMap(([name]) => {
		const value = settings.get(name)?.value;
		return value === undefined ? [] : [[name, value] as const];
	});
	return Object.fromEntries(set);
}
