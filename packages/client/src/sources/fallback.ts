import {
	knownAgeMs,
	type ReadOptions,
	type ServiceQuery,
	type ServiceSnapshot,
	type ServiceSource,
	type SourceWatch,
	SpockError,
} from '@spock/protocol';
import { isError } from '@spock/protocol/internal';
import type { SidecarConnection } from '../connection/sidecar-connection.ts';
import { closedError } from '../foundation/errors.ts';
import type { ResolvedOptions } from '../foundation/options.ts';
import type { FallbackStatus } from '../foundation/status.ts';
import { OneTimer } from '../foundation/timers.ts';
import { assertAge, type StoredSnapshot } from '../snapshots/stored-snapshot.ts';
import type { StandIn } from '../snapshots/subscription-kind.ts';

type StoredService = StoredSnapshot<ServiceQuery, ServiceSnapshot>;

/** What the fallback does for one query that the sidecar has never sent a snapshot of. */
interface Orphan {
	/** Undefined until the fallback is asked. */
	watch: SourceWatch | undefined;
	/** Why the fallback has no answer. */
	error: SpockError | undefined;
}

/**
 * A source that replaces a disconnected sidecar for queries that the sidecar has never sent a snapshot of. The sidecar's first snapshot
 * of a query ends the fallback's watch, so that the fallback is used no more than necessary.
 */
export class Fallback implements StandIn<ServiceQuery, ServiceSnapshot> {
	readonly #connection: Pick<SidecarConnection, 'state'>;
	readonly #options: ResolvedOptions;
	readonly #make: ServiceSource | (() => ServiceSource);
	readonly #orphans = new Map<StoredService, Orphan>();
	readonly #check: OneTimer;
	#source: ServiceSource | undefined;
	#closing: Promise<void> | undefined;

	/** Owns the source. Throws a TypeError for a fallback that is neither a source nor a function. */
	constructor(
		connection: Pick<SidecarConnection, 'state'>,
		options: ResolvedOptions,
		fallback: ServiceSource | (() => ServiceSource),
	) {
		this.#connection = connection;
		this.#options = options;
		this.#make = fallback;
		if (typeof fallback !== 'function') this.#source = checkSource(fallback);
		this.#check = new OneTimer(options.clock, () => this.#standIn());
	}

	get isAway(): boolean {
		return this.#connection.state !== 'ready';
	}

	status(): FallbackStatus {
		const services = [...this.#orphans.values()].filter(({ watch }) => watch !== undefined).length;
		return { source: this.#source?.name ?? null, services };
	}

	start(stored: StoredService): void {
		this.#orphans.set(stored, { watch: undefined, error: undefined });
		this.#check.arm(this.#options.fallbackAfterMs);
	}

	stop(stored: StoredService): void {
		const orphan = this.#orphans.get(stored);
		this.#orphans.delete(stored);
		orphan?.watch?.stop();
		if (this.#orphans.size === 0) this.#check.cancel();
	}

	feeds(stored: StoredService): boolean {
		return this.#orphans.get(stored)?.watch !== undefined;
	}

	/** Checks the age of the answer, because the source may not support `maxAgeMs`. */
	async get(query: ServiceQuery, options: ReadOptions): Promise<ServiceSnapshot> {
		const snapshot = await this.source().get(query, options);
		// A static list has no time of verification.
		const { verifiedAt } = snapshot;
		const ageMs = verifiedAt === 0 ? snapshot.ageMs : knownAgeMs(snapshot, this.#options.clock.wallNow());
		assertAge(ageMs, options.maxAgeMs, 'service', query.service);
		return snapshot;
	}

	explain(stored: StoredService, timeout: SpockError): SpockError {
		const reason = this.#orphans.get(stored)?.error;
		if (reason === undefined) return timeout;
		const { message, details, cause } = timeout;
		return new SpockError('TIMEOUT', `${message}; the fallback: ${reason.message}`, { details, cause });
	}

	/** The source, made if necessary. Throws a SpockError: UNAVAILABLE with the cause if it cannot be made, CLOSED after the end. */
	source(): ServiceSource {
		if (this.#closing !== undefined) throw closedError();
		this.#source ??= this.#made();
		return this.#source;
	}

	close(): Promise<void> {
		this.#closing ??= this.#close();
		return this.#closing;
	}

	async #close(): Promise<void> {
		for (const stored of [...this.#orphans.keys()]) this.stop(stored);
		await this.#source?.close();
	}

	#made(): ServiceSource {
		try {
			return checkSource(typeof this.#make === 'function' ? this.#make() : this.#make);
		} catch (cause) {
			if (SpockError.is(cause)) throw cause;
			const reason = isError(cause) ? cause.message : String(cause);
			throw new SpockError('UNAVAILABLE', `fallback() failed: ${reason}`, { cause });
		}
	}

	/** Watches every query without an answer if the sidecar is still away; repeats until all are watched. */
	#standIn(): void {
		for (const [stored, orphan] of [...this.#orphans]) {
			if (this.isAway && orphan.watch === undefined && this.#orphans.has(stored)) this.#watch(stored, orphan);
		}
		const isOneWaiting = [...this.#orphans.values()].some(({ watch }) => watch === undefined);
		if (isOneWaiting) this.#check.arm(this.#options.fallbackAfterMs);
	}

	#watch(stored: StoredService, orphan: Orphan): void {
		const fail = (error: SpockError): void => {
			orphan.error = error;
			stored.report(error);
		};
		try {
			orphan.watch = this.source().watch(stored.query, { next: (snapshot) => stored.put(snapshot), error: fail });
		} catch (error) {
			fail(SpockError.is(error) ? error : new SpockError('UNAVAILABLE', String(error), { cause: error }));
			return;
		}
		// An answer that came before `watch` returned may have ended it.
		if (!this.#orphans.has(stored)) orphan.watch.stop();
	}
}

/** Throws a TypeError for anything else, such as a promise of a source, which is a likely mistake. */
function checkSource(fallback: ServiceSource): ServiceSource {
	if (typeof fallback?.watch === 'function') return fallback;
	throw new TypeError('fallback must be a ServiceSource, or a function that returns one');
}
