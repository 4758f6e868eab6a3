import { openSync } from 'node:fs';

import { socketTransport, type Transport } from '@spock/client';
import type { BackendSource } from '@spock/discovery';

import type { SidecarObserver } from '../../../sidecar/src/index.ts';
import { CountingClock, type ProcessFigures } from './process-figures.ts';

/** What a process of a soak is given in place of its own. */
interface Injection {
	/** Client: the signal that outlives calls. */
	readonly signal?: AbortSignal;
	/** Client. */
	readonly clock?: CountingClock;
	/** Client. */
	readonly transport?: Transport;
	/** Sidecar. */
	readonly observer?: SidecarObserver;
	/** Sidecar. */
	readonly source?: (source: BackendSource) => BackendSource;
}

/** A leak that is injected on one side, to see that the soak finds it: by this figure at least. */
export interface PlantedLeak {
	readonly name: string;
	readonly side: 'client' | 'sidecar';
	readonly figure: keyof ProcessFigures | 'heap';
	readonly injection: Injection;
}

/** Between two heartbeats of most clients: longer than a planted leak is looked for, and no other timer of theirs. */
export const HEARTBEAT_MS = 20_000;

/** Heartbeats go on although they were cleared. */
class HeartbeatClock extends CountingClock {
	readonly #heartbeats = new WeakSet<NodeJS.Timeout>();

	override setTimeout(callback: () => void, delayMs: number): NodeJS.Timeout {
		const timer = super.setTimeout(callback, delayMs);
		if (delayMs === HEARTBEAT_MS) this.#heartbeats.add(timer);
		return timer;
	}

	override clearTimeout(timer: NodeJS.Timeout | undefined): void {
		if (timer === undefined || !this.#heartbeats.has(timer)) super.clearTimeout(timer);
	}
}

const kept = new Map<unknown, unknown>();

/** One of each kind that the soak is there to find. */
export const plantedLeaks: readonly PlantedLeak[] = [
	{
		name: 'a listener: a signal keeps the listeners that are removed from it',
		side: 'client',
		figure: 'listeners',
		injection: { signal: signalThatKeeps() },
	},
	{
		name: 'a timer: the heartbeat of a session that is gone goes on',
		side: 'client',
		figure: 'timers',
		injection: { clock: new HeartbeatClock() },
	},
	{
		name: 'an entry of a map: the number of a connection that is gone is kept',
		side: 'sidecar',
		figure: 'heap',
		injection: { observer: { connectionClosed: (id) => kept.set(id, id) } },
	},
	{
		name: 'an object: a session that is gone is kept',
		side: 'client',
		figure: 'heap',
		injection: { transport: transportThat((receive) => kept.set(receive, receive)) },
	},
	{
		name: 'a subscription: the watches of a connection that is gone go on',
		side: 'sidecar',
		figure: 'held',
		injection: { source: sourceThatWatchesOn },
	},
	{
		name: 'a file descriptor: a file is opened beside every socket and stays open',
		side: 'client',
		figure: 'fds',
		injection: { transport: transportThat(() => openSync('/dev/null', 'r')) },
	},
];

/** What the leak of this name injects, or nothing without a name; throws if it is unknown. */
export function injectionOf(name: string | undefined): Injection {
	if (name === undefined) return {};
	const leak = plantedLeaks.find((one) => one.name === name);
	if (leak !== undefined) return leak.injection;
	throw new RangeError(`unknown leak "${name}"; expected one of: ${plantedLeaks.map((one) => one.name).join(', ')}`);
}

/** Its listeners are added, each time as another one, and never removed. It never aborts. */
function signalThatKeeps(): AbortSignal {
	const { signal } = new AbortController();
	const add = signal.addEventListener.bind(signal);
	return Object.assign(signal, {
		addEventListener: (type: string, listener: unknown) => add(type, () => listener),
		removeEventListener: () => undefined,
	});
}

/** Does something beside every socket. */
function transportThat(act: (receive: (chunk: Buffer) => void) => void): Transport {
	return (address, receive) => {
		act(receive);
		return socketTransport(address, receive);
	};
}

/** Its watches cannot be stopped. */
function sourceThatWatchesOn(source: BackendSource): BackendSource {
	const watch = source.watch.bind(source);
	return Object.assign(source, {
		watch: (...asked: Parameters<typeof watch>) => {
			watch(...asked);
			return { stop: () => undefined };
		},
	});
}
