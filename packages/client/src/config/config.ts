import {
	type CallOptions,
	entriesOf,
	type KeyQuery,
	type KeySnapshot,
	type KeySource,
	type SnapshotSource,
	type SourceWatch,
	SpockError,
} from '@spock/protocol';
import { ageClockOf, callOut, showAs, signalOption } from '@spock/protocol/internal';

import { Waiters } from '../calls/waiters.ts';
import { configErrorChannel } from '../foundation/diagnostics.ts';
import { closedError, throwIfAborted } from '../foundation/errors.ts';
import type { NewestOnly } from '../foundation/newest-only.ts';
import type { ResolvedOptions } from '../foundation/options.ts';
import { type Endable, Scope, scopedIterator } from '../foundation/scope.ts';
import { checkCallOptions } from '../lookups/lookup-options.ts';
import type { ConfigReader } from './config-reader.ts';

/** Options of a configuration, of one key or of a prefix. `V` is the type of its value. */
export interface ConfigListeners<V> {
	/** Called with every new value, the first included. */
	readonly onChange?: (value: V, config: Config<V>) => void;
	/** Called once for each invalid new value, missing key, or other reason why the value is not the registry's. */
	readonly onError?: (error: SpockError, config: Config<V>) => void;
}

/** What a {@link Config} needs. */
export interface ConfigSetup<V> extends ConfigListeners<V> {
	readonly query: KeyQuery;
	readonly read: ConfigReader<V>;
	/** The default, used until a valid value is known. */
	readonly fallback: { readonly value: V } | undefined;
}

/** The value that is served, and its source. */
interface Held<V> {
	readonly value: V;
	readonly revision: number;
	readonly source: SnapshotSource | 'default';
	/** When it was last the registry's value; only for `last-known-good`. */
	readonly verifiedAtMs: number;
}

type ConfigOptionsOfClient = Pick<ResolvedOptions, 'clock' | 'unref' | 'timeoutMs'>;

/**
 * A value that follows the registry, made by `diplomat.config`. After an invalid new value the last valid one is served, and while
 * the registry or the sidecar is unreachable the last known one; see `source`, `ageMs` and `error`. Iterating yields the value and
 * then each new one. Ends with `close`, or with its client; the last value can be read after that.
 */
export class Config<V> implements AsyncIterable<V>, Disposable, Endable {
	static {
		// Neither the value nor the message of an error, which may quote it.
		showAs<Config<unknown>>(Config, 'Config', (config) => {
			const { source, ageMs, revision, error } = config;
			return { ...config.#setup.query, source, ageMs, revision, error: error?.code };
		});
	}

	readonly #setup: ConfigSetup<V>;
	readonly #options: ConfigOptionsOfClient;
	readonly #waiters: Waiters;
	/** The client's scope, with which this ends. */
	readonly #outer: Scope;
	/** Iterators, which receive new values and end with this. */
	readonly #scope = new Scope<NewestOnly<V>>();
	#watch: SourceWatch | undefined;
	#held: Held<V> | undefined;
	#error: SpockError | undefined;
	/** True once the registry has answered and there is a value. */
	#ready = false;

	/** Use `diplomat.config`. Starts to watch, and throws what that throws. Belongs to the scope `outer` until it is closed. */
	constructor(setup: ConfigSetup<V>, source: KeySource, options: ConfigOptionsOfClient, outer: Scope) {
		const { query, fallback } = setup;
		this.#setup = setup;
		this.#options = options;
		this.#outer = outer;
		this.#waiters = new Waiters(options.clock, options.unref);
		if (fallback !== undefined) this.#held = { ...fallback, revision: 0, source: 'default', verifiedAtMs: 0 };
		this.#watch = source.watch(query, {
			next: (snapshot) => this.#next(snapshot),
			error: (error) => this.#fail(error),
		});
		// A listener may have closed this before `watch` returned.
		if (!this.#scope.isOpen) this.#watch.stop();
		else outer.add(this);
	}

	/** The last good value, or the default. Without either it throws: NOT_READY before the first answer, NO_SUCH_KEY, BAD_VALUE, … */
	get value(): V {
		if (this.#held !== undefined) return this.#held.value;
		throw this.#error ?? this.#notReady('NOT_READY');
	}

	/**
	 * `live`; `last-known-good` while the registry or the sidecar is unreachable or the newest value is invalid; `default`; null
	 * without a value.
	 */
	get source(): SnapshotSource | 'default' | null {
		return this.#held?.source ?? null;
	}

	/** How long ago the value was last the registry's, in whole milliseconds; 0 unless it is `last-known-good`. */
	get ageMs(): number {
		const held = this.#held;
		if (held?.source !== 'last-known-good') return 0;
		return Math.max(0, Math.round(ageClockOf(this.#options.clock).now() - held.verifiedAtMs));
	}

	/** The revision of the value's snapshot; 0 before the first. */
	get revision(): number {
		return this.#held?.revision ?? 0;
	}

	/** Why the value is not the registry's current value; undefined when it is. */
	get error(): SpockError | undefined {
		return this.#error;
	}

	/**
	 * Resolves with this once the registry has answered and a value is available. Rejects with NO_SUCH_KEY (unless there is a
	 * default), BAD_VALUE, ACL_DENIED, with the last error or TIMEOUT at its deadline, ABORTED, CLOSED.
	 */
	async ready(options: CallOptions = {}): Promise<this> {
		checkCallOptions(options);
		const { timeoutMs = this.#options.timeoutMs, signal } = options;
		throwIfAborted(signal, 'config');
		if (this.#ready) return this;
		if (!this.#scope.isOpen) throw closedError();
		if (this.#error?.retryable === false) throw this.#error;
		await this.#waiters.wait(
			'config',
			{ timeoutMs, signal },
			() => this.#error ?? this.#notReady('TIMEOUT', timeoutMs),
		);
		return this;
	}

	/** Yields the current value, if any, and then each new one, newest only. Ends with the signal, or with this. */
	changes(options: { readonly signal?: AbortSignal } = {}): AsyncIterableIterator<V> {
		const signal = signalOption('signal', options.signal);
		return scopedIterator<V>(this.#scope, signal, (iterator) => {
			if (this.#held !== undefined) iterator.put(this.#held.value);
			return () => undefined;
		});
	}

	[Symbol.asyncIterator](): AsyncIterableIterator<V> {
		return this.changes();
	}

	/** Ends the watch; idempotent. */
	close(): void {
		if (!this.#scope.isOpen) return;
		this.#scope.end();
		this.#watch?.stop();
		this.#keepStale();
		this.#waiters.rejectAll(closedError());
		this.#outer.delete(this);
	}

	/** As `close`. */
	end(): void {
		this.close();
	}

	/** As `close`. */
	[Symbol.dispose](): void {
		this.close();
	}

	#next(snapshot: KeySnapshot): void {
		const { found, error, errors } = this.#setup.read(entriesOf(snapshot));
		const before = this.#held;
		this.#error = error;
		this.#held = this.#hold(snapshot, found, error !== undefined);
		if (this.#held !== undefined) {
			this.#ready = true;
			this.#waiters.resolveAll();
		} else if (error !== undefined) this.#waiters.rejectAll(error);
		for (const each of errors) this.#report(each);
		if (this.#held !== undefined && !(before !== undefined && Object.is(before.value, this.#held.value))) {
			this.#notifyChange(this.#held.value);
		}
	}

	/** The value to serve from now on: the one that was read, else the default, else the last one served. */
	#hold(snapshot: KeySnapshot, found: { readonly value: V } | undefined, isBad: boolean): Held<V> | undefined {
		const before = this.#held;
		const { fallback } = this.#setup;
		const { revision } = snapshot;
		if (found === undefined && fallback !== undefined) {
			return { ...fallback, revision, source: 'default', verifiedAtMs: 0 };
		}
		const served = found ?? before;
		if (served === undefined) return undefined;
		const isOld = before !== undefined && Object.is(before.value, served.value) && isBad;
		const heardAtMs = ageClockOf(this.#options.clock).now() - snapshot.ageMs;
		return {
			value: served.value,
			revision: isOld ? before.revision : revision,
			source: isBad ? 'last-known-good' : snapshot.source,
			// Of a value that is no longer the registry's, this is when it last was.
			verifiedAtMs: isOld && before.source === 'last-known-good' ? before.verifiedAtMs : heardAtMs,
		};
	}

	#fail(error: SpockError): void {
		const isNew = this.#error?.code !== error.code;
		this.#error = error;
		if (!error.retryable) this.#waiters.rejectAll(error);
		if (isNew) this.#report(error);
	}

	#report(error: SpockError): void {
		const { query, onError } = this.#setup;
		if (configErrorChannel.hasSubscribers) configErrorChannel.publish({ ...query, error });
		if (onError !== undefined) callOut(() => onError(error, this));
	}

	#notifyChange(value: V): void {
		for (const iterator of this.#scope.members()) iterator.put(value);
		const { onChange } = this.#setup;
		if (onChange !== undefined) callOut(() => onChange(value, this));
	}

	/** No source verifies the value any more. */
	#keepStale(): void {
		const held = this.#held;
		if (held === undefined || held.source === 'last-known-good' || held.source === 'default') return;
		this.#held = { ...held, source: 'last-known-good', verifiedAtMs: ageClockOf(this.#options.clock).now() };
	}

	#notReady(code: 'NOT_READY' | 'TIMEOUT', timeoutMs?: number): SpockError {
		const { key } = this.#setup.query;
		const name = JSON.stringify(key);
		const what =
			timeoutMs === undefined
				? `${name} has no value yet; await ready()`
				: `no value of ${name} within ${timeoutMs} ms`;
		return new SpockError(code, `config: ${what}`, {
			details: { key, ...(timeoutMs !== undefined && { timeoutMs }) },
		});
	}
}
