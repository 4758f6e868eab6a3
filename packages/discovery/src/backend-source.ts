import {
	type AskedBy,
	type BackendStatus,
	type CallOptions,
	type Inspection,
	type KeyEntry,
	type KeyQuery,
	type KeySnapshot,
	type KeySource,
	type KeyWatchStatus,
	type ReadOptions,
	type ServiceInstance,
	type ServiceList,
	type ServiceQuery,
	type ServiceRegistrar,
	type ServiceSnapshot,
	type ServiceSource,
	type SnapshotObserver,
	type SnapshotSource,
	type SourceWatch,
	SpockError,
	type WatchStatus,
} from '@spock/protocol';
import { type Clock, durationMsOption, fractionOption, integerOption, systemClock } from '@spock/protocol/internal';

import { AnswerCache } from './cache/answer-cache.ts';
import { keyKind, keyWatchStatus } from './cache/key-kind.ts';
import { ListCache } from './cache/list-cache.ts';
import { ServiceKind, serviceWatchStatus } from './cache/service-kind.ts';
import type { Backend } from './foundation/backend.ts';
import type { DiscoveryListener } from './foundation/discovery-event.ts';
import { directRegistrar } from './registration/direct-registrar.ts';
import type { Registrations } from './registration/registrations.ts';
import { StateStore } from './state/state-store.ts';

/** An entry without readers ends after this. */
export const DEFAULT_IDLE_TTL_MS = 60_000;
/** Most different questions at once. */
export const DEFAULT_ENTRIES_MAX = 10_000;
/** Most different questions about keys at once. An answer may take a megabyte: this bounds them to one gigabyte. */
export const DEFAULT_KEY_ENTRIES_MAX = 1000;
/** Of these, how many may be there for one client alone. */
export const DEFAULT_CLIENT_SHARE = 0.5;
/** How long a read waits for the first answer of a registry: less than a client's own deadline, so that it hears why. */
export const DEFAULT_FIRST_ANSWER_MS = 4000;
/** How long an empty answer after another one is held back. */
export const DEFAULT_EMPTY_HOLD_MS = 10_000;
/** Fraction of healthy instances below which all are served: never. */
export const DEFAULT_PANIC_THRESHOLD = 0;
/** About how much memory answers may take, in bytes; the same number for keys. */
export const DEFAULT_ANSWERS_BYTES_MAX: number = 256 * 1024 * 1024;
/** How long a source that is closed waits for the registry to take out what was registered through it. */
const DEREGISTER_MS = 1000;

type CountOption = 'entriesMax' | 'entriesPerClientMax' | 'keyEntriesMax' | 'keyEntriesPerClientMax';

/** Options of {@link BackendSource}. */
export interface BackendSourceOptions {
	/** Where answers come from. Owned by the source from now on: `close` closes it. */
	readonly backend: Backend;
	/** Default: the clock of the process. */
	readonly clock?: Clock;
	/** How long a query is still watched after the last request for it, in milliseconds. Default 60000. */
	readonly idleTtlMs?: number;
	/** Most different questions at once; the next one is OVERLOADED if all of them have readers. Default 10000, or as many as the backend can watch. */
	readonly entriesMax?: number;
	/** Of those, how many may be there for one client alone. Default: half of them. */
	readonly entriesPerClientMax?: number;
	/** Most different questions about keys at once; the next one is OVERLOADED if all of them have readers. Default 1000, or as many as the backend can watch. */
	readonly keyEntriesMax?: number;
	/** Of those, how many may be there for one client alone. Default: half of them. */
	readonly keyEntriesPerClientMax?: number;
	/**
	 * About how much memory the answers may take, in bytes: at it a further question is OVERLOADED, and at half of it one of a client that
	 * alone asks for all that; the same number for keys. Default 256 MiB.
	 */
	readonly answersBytesMax?: number;
	/** Age past which a last known snapshot is UNAVAILABLE, in milliseconds. Default: no limit. */
	readonly staleMaxMs?: number;
	/** How long a read waits for the first answer before it is NOT_READY, in milliseconds. Default 4000. */
	readonly firstAnswerMs?: number;
	/**
	 * How long "no instances any more" is held back before it is believed, in milliseconds; the last instances are served
	 * meanwhile, marked. 0 believes it at once. Default 10000.
	 */
	readonly emptyHoldMs?: number;
	/** Fraction of healthy instances, 0 to 1, below which all are served. Default 0: never. */
	readonly panicThreshold?: number;
	/**
	 * A directory, made if need be, in which answers outlive the process: read only by this user. Default: none.
	 * What cannot be written or read there is reported to `onEvent`, and changes nothing else.
	 */
	readonly stateDir?: string;
	/** Most bytes of what is in `stateDir`; the least recently written answers go. Default 48 MiB. */
	readonly stateBytesMax?: number;
	/** Which registry and which part of it this is; a state file of another one is refused. Default: the backend's name. */
	readonly stateScope?: string;
	/**
	 * Keeps what is registered through this source, which then has a `registrar`: for direct mode, over the same backend.
	 * Owned by the source from now on. Default: none, and the source only finds services.
	 */
	readonly registrations?: Registrations;
	/** Told what happens, to log and count it. */
	readonly onEvent?: DiscoveryListener;
}

/** A cache over a backend: what a sidecar serves from, and a client's direct mode. */
export class BackendSource implements ServiceSource {
	readonly name: string;
	readonly registrar: ServiceRegistrar | undefined;
	readonly #backend: Backend;
	readonly #registrations: Registrations | undefined;
	readonly #clock: Clock;
	readonly #onEvent: DiscoveryListener;
	readonly #kind: ServiceKind;
	readonly #cache: AnswerCache<ServiceQuery, readonly ServiceInstance[], ServiceSnapshot>;
	/** Undefined where the registry has no keys. */
	readonly #keys: AnswerCache<KeyQuery, readonly KeyEntry[], KeySnapshot> | undefined;
	readonly #lists: ListCache;
	readonly #firstAnswerMs: number;
	readonly #state: StateStore | undefined;

	constructor(options: BackendSourceOptions) {
		const { backend, registrations, clock = systemClock, onEvent = () => undefined } = options;
		this.name = backend.name;
		this.registrar = registrations && directRegistrar(registrations, clock);
		this.#registrations = registrations;
		this.#backend = backend;
		this.#clock = clock;
		this.#onEvent = onEvent;
		const { stateDir, stateScope = backend.name, stateBytesMax } = options;
		const state =
			stateDir === undefined ? undefined : new StateStore({ stateDir, stateScope, stateBytesMax, clock, onEvent });
		this.#state = state;
		this.#lists = new ListCache({ backend, clock, state, onEvent });
		const firstAnswerMs = durationMsOption('firstAnswerMs', options.firstAnswerMs ?? DEFAULT_FIRST_ANSWER_MS);
		this.#firstAnswerMs = firstAnswerMs;
		const { answersBytesMax = DEFAULT_ANSWERS_BYTES_MAX } = options;
		const half = (count: number): number => Math.ceil(count * DEFAULT_CLIENT_SHARE);
		const bytesMax = integerOption('answersBytesMax', answersBytesMax, 1, Number.MAX_SAFE_INTEGER);
		const common = {
			...{ bytesMax, bytesPerClientMax: half(bytesMax) },
			clock,
			onEvent,
			confirmsAfterStandstill: backend.confirmsAfterStandstill === true,
			emptyHoldMs: durationMsOption('emptyHoldMs', options.emptyHoldMs ?? DEFAULT_EMPTY_HOLD_MS, 0),
			idleTtlMs: durationMsOption('idleTtlMs', options.idleTtlMs ?? DEFAULT_IDLE_TTL_MS),
			firstAnswerMs,
			staleMaxMs:
				options.staleMaxMs === undefined
					? Number.POSITIVE_INFINITY
					: durationMsOption('staleMaxMs', options.staleMaxMs),
		};
		const countOption = (name: CountOption, fallback: number, max = 10_000_000): number =>
			integerOption(name, options[name] ?? fallback, 1, max);
		const panicThreshold = fractionOption('panicThreshold', options.panicThreshold ?? DEFAULT_PANIC_THRESHOLD);
		this.#kind = new ServiceKind({ backend, panicThreshold, state, onEvent });
		const { services = DEFAULT_ENTRIES_MAX, keys: ofKeysMax = DEFAULT_KEY_ENTRIES_MAX } = backend.queriesMax ?? {};
		const entriesMax = countOption('entriesMax', Math.min(DEFAULT_ENTRIES_MAX, services));
		const entriesPerClientMax = countOption('entriesPerClientMax', half(entriesMax), entriesMax);
		this.#cache = new AnswerCache({ ...common, entriesMax, entriesPerClientMax, kind: this.#kind });
		const keys = keyKind(backend, state);
		const keyEntriesMax = countOption('keyEntriesMax', Math.min(DEFAULT_KEY_ENTRIES_MAX, ofKeysMax));
		const keysPerClientMax = countOption('keyEntriesPerClientMax', half(keyEntriesMax), keyEntriesMax);
		const ofKeys = { entriesMax: keyEntriesMax, entriesPerClientMax: keysPerClientMax };
		this.#keys = keys && new AnswerCache({ ...common, ...ofKeys, kind: keys });
	}

	get keys(): KeySource | undefined {
		return this.#keys;
	}

	peek(query: ServiceQuery): ServiceSnapshot | undefined {
		return this.#cache.peek(query);
	}

	get(query: ServiceQuery, options?: ReadOptions): Promise<ServiceSnapshot> {
		return this.#cache.get(query, options);
	}

	watch(query: ServiceQuery, observer: SnapshotObserver, by?: AskedBy): SourceWatch {
		return this.#cache.watch(query, observer, by);
	}

	/** The names of all services; the last list with its age when the registry does not answer. */
	list(query: { readonly datacenter?: string } = {}, options: CallOptions & AskedBy = {}): Promise<ServiceList> {
		return this.#lists.list(query, { timeoutMs: this.#firstAnswerMs, ...options });
	}

	async inspect(query: ServiceQuery, options?: CallOptions & AskedBy): Promise<Inspection> {
		return this.#kind.inspection(await this.#cache.inspect(query, options));
	}

	/** What is known of a question that is watched, else undefined; to look keeps nothing alive. */
	known(query: ServiceQuery): Inspection | undefined {
		const found = this.#cache.known(query);
		return found && this.#kind.inspection(found);
	}

	/**
	 * This process is deregistering an instance of this service, by its name in snapshots: for as long as it would be held back, the
	 * registry's word that none is left is believed at once where no other instance was served.
	 */
	expectGone(service: string, instance: string): void {
		this.#cache.expectGone(service, instance);
	}

	/**
	 * Whether there is something to serve: `live` when the registry answers, or where a list comes from that is known while
	 * it does not. Where the token may not list services, `live` if another answer is fresh or the token may read something. Otherwise
	 * rejects as `list` does.
	 */
	async probe(options: CallOptions = {}): Promise<SnapshotSource> {
		try {
			return await this.#probe(options);
		} catch (error) {
			if (!SpockError.is(error, 'ACL_DENIED')) throw error;
			if (!this.#isSomeFresh && !(await this.#backend.mayRead?.(options))) throw error;
			this.#onEvent({ type: 'list-denied', error });
			return 'live';
		}
	}

	get #isSomeFresh(): boolean {
		return [...this.watches(), ...this.keyWatches()].some(({ state }) => state === 'fresh');
	}

	async #probe(options: CallOptions): Promise<SnapshotSource> {
		if (this.#backend.probe === undefined) return (await this.#lists.list({}, options)).source;
		try {
			await this.#backend.probe(options);
			return 'live';
		} catch (error) {
			const known = await this.#lists.list({}, options).catch(() => undefined);
			if (known === undefined) throw error;
			return known.source;
		}
	}

	/** Every question being watched and what is known of it. */
	watches(): WatchStatus[] {
		return this.#cache.watches(serviceWatchStatus);
	}

	/** Every question about keys being watched and what is known of it, values left out. */
	keyWatches(): KeyWatchStatus[] {
		return this.#keys?.watches(keyWatchStatus) ?? [];
	}

	/** Another process writes the state directory from now on: what is not written yet is, and then nothing more. Idempotent. */
	async release(): Promise<void> {
		await this.#state?.close();
	}

	/** The health of the registry. A backend that throws is down, with its reason: the sidecar goes on serving what it has. */
	status(): BackendStatus {
		try {
			return this.#backend.status();
		} catch (error) {
			const { message } = error as Error;
			const { name } = this.#backend;
			return {
				name,
				state: 'down',
				addresses: [],
				error: `the backend's status failed: ${message}`,
				lastSuccessAgeMs: null,
			};
		}
	}

	async close(): Promise<void> {
		this.#cache.close();
		this.#keys?.close();
		await this.#deregister();
		try {
			await this.#backend.close();
		} finally {
			// A backend of a third party may fail to close: what is known must outlive the process all the same.
			await this.#state?.close();
		}
	}

	/** Takes out what was registered, as far as the registry answers in time; the rest runs out there. */
	async #deregister(): Promise<void> {
		const registrations = this.#registrations;
		if (registrations === undefined) return;
		const timer = this.#clock.setTimeout(() => registrations.close(), DEREGISTER_MS);
		await registrations.drain();
		this.#clock.clearTimeout(timer);
		registrations.close();
	}
}
