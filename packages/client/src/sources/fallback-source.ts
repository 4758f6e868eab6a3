import {
	type CallOptions,
	type KeySource,
	knownAgeMs,
	queryKey,
	type ReadOptions,
	type ServiceList,
	type ServiceQuery,
	type ServiceRegistrar,
	type ServiceSnapshot,
	type ServiceSource,
	type SnapshotObserver,
	type SourceWatch,
	SpockError,
	tooOldError,
} from '@spock/protocol';
import { withAnySignal } from '@spock/protocol/internal';

import { closedError } from '../foundation/closed-error.ts';
import { OneTimer } from '../foundation/one-timer.ts';
import type { ResolvedOptions } from '../foundation/options.ts';
import type { FallbackStatus } from '../foundation/status.ts';
import { timeLeft } from '../foundation/time-left.ts';
import type { SidecarSource } from './sidecar-source.ts';

/** A watch that the sidecar has given no snapshot for. */
interface Orphan {
	readonly query: ServiceQuery;
	readonly observer: SnapshotObserver;
	/** At the fallback, once it is asked. */
	standIn: SourceWatch | undefined;
}

/**
 * A sidecar, and a source that stands in for it where the sidecar has never given a snapshot and is away. The sidecar's
 * first snapshot ends the stand-in, so the fallback is asked no more than it must be.
 */
export class FallbackSource implements ServiceSource {
	readonly name: string;
	readonly #sidecar: SidecarSource;
	readonly #options: ResolvedOptions;
	readonly #make: ServiceSource | (() => ServiceSource);
	#fallback: ServiceSource | undefined;
	readonly #orphans = new Set<Orphan>();
	readonly #check: OneTimer;
	#closing: Promise<void> | undefined;

	/** Owns both sources. */
	constructor(sidecar: SidecarSource, options: ResolvedOptions, fallback: ServiceSource | (() => ServiceSource)) {
		this.name = sidecar.name;
		this.#sidecar = sidecar;
		this.#options = options;
		this.#make = fallback;
		if (typeof fallback !== 'function') this.#open();
		this.#check = new OneTimer(options.clock, () => this.#adopt());
	}

	/** Keys are the sidecar's alone: what was read once goes on with its age. */
	get keys(): KeySource {
		return this.#sidecar.keys;
	}

	/** Instances are registered by the sidecar alone; what it does not know yet is told when it is back. */
	get registrar(): ServiceRegistrar {
		return this.#sidecar.registrar;
	}

	/** True while the sidecar cannot be asked. */
	get isAway(): boolean {
		return this.#sidecar.connection.state !== 'ready';
	}

	status(): FallbackStatus {
		const stoodInFor = [...this.#orphans].filter(({ standIn }) => standIn !== undefined);
		const services = new Set(stoodInFor.map(({ query }) => queryKey(query))).size;
		return { source: this.#fallback?.name ?? null, services };
	}

	peek(query: ServiceQuery): ServiceSnapshot | undefined {
		return this.#sidecar.peek(query) ?? (this.isAway ? this.#fallback?.peek(query) : undefined);
	}

	async get(query: ServiceQuery, options: ReadOptions = {}): Promise<ServiceSnapshot> {
		const left = timeLeft(options, this.#options);
		const won = new AbortController();
		const own = withAnySignal([options.signal, won.signal], (signal) =>
			this.#sidecar.get(query, { ...left(), signal }),
		);
		// Whoever comes second is not heard.
		own.catch(() => undefined);
		let orphan: Orphan | undefined;
		let reason: SpockError | undefined;
		const keep = (error: SpockError): void => {
			reason = error;
		};
		const other = new Promise<ServiceSnapshot>((resolve) => {
			orphan = this.#wait(query, { next: (snapshot) => resolve(this.#within(snapshot, query, left)), error: keep });
		});
		try {
			return await Promise.race([own, other]);
		} catch (error) {
			if (reason !== undefined && SpockError.is(error, 'TIMEOUT')) {
				const { details, cause } = error;
				throw new SpockError('TIMEOUT', `${error.message}; the fallback: ${reason.message}`, { details, cause });
			}
			// Without a connection it may be an option to fail at once: then the fallback is asked at once.
			if (!this.isAway || !SpockError.is(error, 'DISCONNECTED')) throw error;
			return await this.#ask(query, left());
		} finally {
			won.abort();
			this.#end(orphan as Orphan);
		}
	}

	/** What the fallback tells, if it is young enough for the caller; else what it says when it is asked for that. */
	#within(
		snapshot: ServiceSnapshot,
		query: ServiceQuery,
		left: () => ReadOptions,
	): ServiceSnapshot | Promise<ServiceSnapshot> {
		const { maxAgeMs } = left();
		const isYoung = maxAgeMs === undefined || knownAgeMs(snapshot, this.#options.clock.wallNow()) <= maxAgeMs;
		return isYoung ? snapshot : this.#ask(query, left());
	}

	/** Asks the fallback, which may know nothing of `maxAgeMs`. Rejects with UNAVAILABLE where its answer is too old. */
	async #ask(query: ServiceQuery, options: ReadOptions): Promise<ServiceSnapshot> {
		const { maxAgeMs } = options;
		const snapshot = await this.#open().get(query, options);
		if (maxAgeMs === undefined) return snapshot;
		// Of a list that nobody verifies there is no time to go by.
		const { verifiedAt } = snapshot;
		const ageMs = verifiedAt === 0 ? snapshot.ageMs : knownAgeMs(snapshot, this.#options.clock.wallNow());
		if (ageMs > maxAgeMs) throw tooOldError('service', query.service, ageMs, maxAgeMs);
		return snapshot;
	}

	watch(query: ServiceQuery, observer: SnapshotObserver): SourceWatch {
		let orphan: Orphan | undefined;
		let isSeen = false;
		const own = this.#sidecar.watch(query, {
			next: (snapshot) => {
				isSeen = true;
				if (orphan !== undefined) this.#end(orphan);
				observer.next(snapshot);
			},
			// What the sidecar cannot tell, the fallback may have told.
			error: (error) => {
				if (orphan?.standIn === undefined) observer.error?.(error);
			},
		});
		if (!isSeen) orphan = this.#wait(query, observer);
		return {
			stop: () => {
				own.stop();
				if (orphan !== undefined) this.#end(orphan);
			},
		};
	}

	async list(query: { readonly datacenter?: string } = {}, options: CallOptions = {}): Promise<ServiceList> {
		if (!this.isAway) return this.#sidecar.list(query, options);
		const { timeoutMs = this.#options.timeoutMs, signal } = options;
		const left = timeLeft({ timeoutMs, signal }, this.#options);
		try {
			await this.#sidecar.connection.ready({ timeoutMs: Math.min(timeoutMs, this.#options.fallbackAfterMs), signal });
		} catch (error) {
			if (!SpockError.is(error, 'TIMEOUT')) throw error;
		}
		const source = this.isAway ? this.#open() : this.#sidecar;
		return source.list(query, left());
	}

	close(): Promise<void> {
		this.#closing ??= this.#close();
		return this.#closing;
	}

	async #close(): Promise<void> {
		this.#check.cancel();
		for (const orphan of [...this.#orphans]) this.#end(orphan);
		await Promise.all([this.#sidecar.close(), this.#fallback?.close()]);
	}

	#wait(query: ServiceQuery, observer: SnapshotObserver): Orphan {
		const orphan: Orphan = { query, observer, standIn: undefined };
		this.#orphans.add(orphan);
		this.#check.arm(this.#options.fallbackAfterMs);
		return orphan;
	}

	#end(orphan: Orphan): void {
		this.#orphans.delete(orphan);
		orphan.standIn?.stop();
		if (this.#orphans.size === 0) this.#check.cancel();
	}

	/** Gives every orphan a stand-in if the sidecar is still away; looks again while there are some without. */
	#adopt(): void {
		for (const orphan of [...this.#orphans]) if (this.isAway && this.#isWanting(orphan)) this.#standIn(orphan);
		if ([...this.#orphans].some((orphan) => this.#isWanting(orphan))) this.#check.arm(this.#options.fallbackAfterMs);
	}

	/** Still there, and without a stand-in: what one is told may end others. */
	#isWanting(orphan: Orphan): boolean {
		return orphan.standIn === undefined && this.#orphans.has(orphan);
	}

	#standIn(orphan: Orphan): void {
		const { query, observer } = orphan;
		try {
			orphan.standIn = this.#open().watch(query, {
				next: (snapshot) => observer.next(snapshot),
				error: (error) => observer.error?.(error),
			});
		} catch (error) {
			observer.error?.(SpockError.is(error) ? error : new SpockError('UNAVAILABLE', String(error), { cause: error }));
			return;
		}
		// It may have been told, and ended by that, before `watch` returned.
		if (!this.#orphans.has(orphan)) orphan.standIn.stop();
	}

	#open(): ServiceSource {
		if (this.#closing !== undefined) throw closedError();
		if (this.#fallback === undefined) {
			const made = typeof this.#make === 'function' ? this.#make() : this.#make;
			// A promise of a source is what one gives by mistake: it is to be awaited before.
			if (typeof made?.watch !== 'function') throw new TypeError('fallback must be or make a ServiceSource');
			this.#fallback = made;
		}
		return this.#fallback;
	}
}
