import type { FetchAnswer } from '@spock/discovery';
import { SpockError } from '@spock/protocol';

import type { Injection } from './injection.ts';
import type { RegistryItem } from './registry-item.ts';
import type { EventOwner, Scheduler, SimEvent } from './scheduler.ts';
import type { SeededRandom } from './seeded-random.ts';
import type { SimProcess } from './sim-process.ts';
import type { SimRegistry } from './sim-registry.ts';

/** How long a blocking query waits at the registry, in milliseconds. */
export const WAIT_MS = 10_000;
/** The deadline of the asker, from when it asks. */
export const QUERY_MS = 13_000;

/** The way from one process to the registry. */
export interface RegistryLink {
	readonly registry: SimRegistry;
	readonly scheduler: Scheduler;
	readonly process: SimProcess;
	readonly random: SeededRandom;
	/** How long each way to the registry takes. Default: drawn with everybody else's. */
	readonly ways: SeededRandom | undefined;
	/** What goes wrong on purpose. */
	readonly injection: Injection;
	/** Ends each query that is not settled. */
	readonly open: Set<() => void>;
}

/** What is asked for; an `item` of undefined is something else than a watched thing. */
export interface Asked<V> {
	readonly item: RegistryItem<V> | undefined;
	readonly select: (all: V) => V;
}

/** One query. */
export interface RegistryQuery<V> extends Asked<V> {
	readonly index: number;
	readonly signal: AbortSignal | undefined;
}

/** An answer and which state of the thing it is. */
export interface VersionedAnswer<V> extends FetchAnswer<V> {
	readonly version: number;
	/** When it was there for the process to read, in virtual milliseconds: it is no younger, whenever that reads it. */
	readonly arrivedAtMs: number;
}

const NOTHING: readonly never[] = Object.freeze([]);
const WORLD: EventOwner | undefined = undefined;

/** Sends one query to the registry and waits for what comes of it. Rejects as a backend's query does. */
export function askRegistry<V>(link: RegistryLink, query: RegistryQuery<V>): Promise<VersionedAnswer<V>> {
	const { process } = link;
	const { signal } = query;
	return new Promise<VersionedAnswer<V>>((resolve, reject) => {
		const end = (): void => {
			link.open.delete(close);
			process.clock.clearTimeout(deadline);
			signal?.removeEventListener('abort', onAbort);
			serving.stop();
		};
		const fail = (error: SpockError): void => {
			end();
			reject(error);
		};
		const close = (): void => fail(new SpockError('CLOSED', 'the backend was closed'));
		link.open.add(close);
		const onAbort = (): void => fail(new SpockError('ABORTED', 'the query was aborted'));
		const deadline = process.clock.setTimeout(
			() => fail(new SpockError('UNAVAILABLE', `the registry gave no answer within ${QUERY_MS} ms`)),
			QUERY_MS,
		);
		const serving = new Serving(link, query, (outcome) => {
			if (outcome instanceof SpockError) fail(outcome);
			else {
				end();
				resolve(outcome);
			}
		});
		signal?.addEventListener('abort', onAbort, { once: true });
	});
}

/** One query on its way, at the registry, and on its way back. */
class Serving<V> {
	readonly #link: RegistryLink;
	readonly #query: RegistryQuery<V>;
	readonly #settle: (outcome: VersionedAnswer<V> | SpockError) => void;
	#event: SimEvent | undefined;
	#release: (() => void) | undefined;
	readonly #forget: () => void;

	constructor(link: RegistryLink, query: RegistryQuery<V>, settle: (outcome: VersionedAnswer<V> | SpockError) => void) {
		this.#link = link;
		this.#query = query;
		this.#settle = settle;
		this.#forget = link.process.atExit(() => this.stop());
		this.#event = link.scheduler.schedule(link.registry.latencyMs(link.ways), 'registry asked', WORLD, () =>
			this.#arrived(),
		);
	}

	stop(): void {
		this.#forget();
		this.#link.scheduler.cancel(this.#event);
		this.#release?.();
		this.#release = undefined;
	}

	#arrived(): void {
		const { item, index } = this.#query;
		const { scheduler, registry, random } = this.#link;
		if (this.#refused()) return;
		if (item === undefined || index === 0 || item.index > index) {
			this.#answer();
			return;
		}
		const over = WAIT_MS + random.unit() * (WAIT_MS / 16);
		this.#event = scheduler.schedule(over, 'registry wait is over', WORLD, () => {
			this.#release?.();
			this.#release = undefined;
			if (!this.#refused()) this.#answer();
		});
		this.#release = item.hold(() => {
			const isCut = registry.mode === 'answers 500' && random.chance(0.5);
			if (!isCut && item.index <= index) return;
			scheduler.cancel(this.#event);
			this.#release?.();
			this.#release = undefined;
			if (!this.#refused()) this.#answer();
		});
	}

	/** True, and seen to, unless the registry is well. */
	#refused(): boolean {
		switch (this.#link.registry.mode) {
			case 'well':
			case 'lies empty':
				return false;
			case 'hangs':
				return true;
			case 'answers 500':
				this.#back(new SpockError('UNAVAILABLE', 'the registry answered 500'));
				return true;
			case 'refuses':
				this.#back(new SpockError('UNAVAILABLE', 'the registry refused the connection'));
				return true;
			case 'denies':
				this.#back(new SpockError('ACL_DENIED', 'the registry denies it'));
				return true;
		}
	}

	#answer(): void {
		const { item, select } = this.#query;
		const isLie = this.#link.registry.mode === 'lies empty';
		// No watched thing: a list, or a write, which is done now.
		if (item === undefined) this.#back({ value: select(NOTHING as unknown as V), index: 1, version: 0 });
		else if (isLie) this.#back({ value: NOTHING as unknown as V, index: item.index, version: 0 });
		else {
			const { value, number } = this.#link.injection.answers?.(item) ?? item.current;
			this.#back({ value: select(value), index: item.index, version: number });
		}
	}

	#back(outcome: Omit<VersionedAnswer<V>, 'arrivedAtMs'> | SpockError): void {
		const { injection, registry, process, scheduler, ways } = this.#link;
		const latencyMs = registry.latencyMs(ways);
		const arrivedAtMs = scheduler.nowMs + latencyMs;
		const answered =
			outcome instanceof SpockError ? (injection.error?.(outcome) ?? outcome) : { ...outcome, arrivedAtMs };
		this.#event = process.schedule(latencyMs, 'registry answered', () => this.#settle(answered));
	}
}
