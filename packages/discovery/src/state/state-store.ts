import {
	type KeyEntry,
	type KeyQuery,
	keyQueryKey,
	queryKey,
	type ServiceInstance,
	type ServiceListEntry,
	type ServiceQuery,
} from '@spock/protocol';
import { type Clock, stringOption, type TimerHandle } from '@spock/protocol/internal';

import type { DiscoveryListener } from '../foundation/discovery-event.ts';
import { settledWithin } from '../foundation/waiting.ts';
import {
	instancesBody,
	type KeptInstances,
	type KeptList,
	type KeptValue,
	keysBody,
	listBody,
	readInstancesBody,
	readKeysBody,
	readListBody,
} from './state-body.ts';
import { StateDirectory } from './state-directory.ts';
import { encodeStateFile, type StateKind, stateFileName } from './state-file.ts';
import { StateReader, VERIFIED_FILE } from './state-reader.ts';

export type { KeptInstances, KeptList } from './state-body.ts';

/** Changes are gathered for this long: a service that flaps costs one write a second. */
const WRITE_DELAY_MS = 1000;
/** Times of verification are written this often: an age on disk is at most this much too high, and never too low. */
const VERIFIED_DELAY_MS = 30_000;
/** Failures after which a batch is left for later: it is the disk then, and not one file. */
const FAILURES_MAX = 16;
/** After a failure to write. */
const RETRY_DELAY_MS = 5000;
/** Files in the directory, and those that wait to be written; the oldest makes room. */
const FILES_MAX = 10_000;
/** A disk that hangs must not hold up the end of the process. */
const CLOSE_MS_MAX = 2000;

/** Options of {@link StateStore}. */
export interface StateStoreOptions {
	readonly stateDir: string;
	readonly stateScope: string;
	readonly clock: Clock;
	readonly onEvent: DiscoveryListener;
}

/** What is, or will be, in one file. */
interface Kept {
	readonly name: string;
	readonly kind: StateKind;
	/** By identity: what is kept again is not written again. Weak, because what is on disk need not stay in memory. */
	readonly content: WeakRef<object>;
	/** What to write; undefined once that was done. */
	body: ((verifiedAt: number) => unknown) | undefined;
	verifiedAt: number;
	/** Of what is on disk; undefined until it was written. */
	checksum: string | undefined;
}

/** What is to be kept. */
type ToKeep = Omit<Kept, 'content' | 'checksum'> & { readonly content: object };

/**
 * Last known answers that outlive the process: a file for each question, so that a change costs one small write however
 * many questions there are, and a start reads only what is asked for. Written behind, one file at a time.
 */
export class StateStore {
	readonly #directory: StateDirectory;
	readonly #reader: StateReader;
	readonly #scope: string;
	readonly #clock: Clock;
	readonly #onEvent: DiscoveryListener;
	/** Names of the files there are, the one written longest ago first. */
	readonly #files = new Set<string>();
	readonly #kept = new Map<string, Kept>();
	/** Files that were removed, or never were there. */
	readonly #gone = new Set<string>();
	/** Names of files to be written, or, where nothing is kept any more, removed. */
	#pending = new Set<string>();
	#isVerifiedNews = false;
	#verifiedDueMs = 0;
	#prepared: Promise<void> | undefined;
	#flushing: Promise<void> | undefined;
	#timer: TimerHandle | undefined;
	#dueMs = 0;
	#isFailing = false;
	#isClosed = false;

	constructor({ stateDir, stateScope, clock, onEvent }: StateStoreOptions) {
		this.#directory = new StateDirectory(stringOption('stateDir', stateDir));
		this.#reader = new StateReader({ directory: this.#directory, scope: stateScope, onEvent });
		this.#scope = stateScope;
		this.#clock = clock;
		this.#onEvent = onEvent;
	}

	/** What was kept of a question; undefined if nothing usable was, which `onEvent` is told where it is news. */
	async load(query: ServiceQuery): Promise<KeptInstances | undefined> {
		const name = stateFileName('instances', queryKey(query));
		const found = await this.#reader.load(name, 'instances', (body) => readInstancesBody(body, query));
		return found?.instances.length === 0 ? undefined : found;
	}

	/** What was kept of a key or prefix, as `load` does. */
	async loadKeys(query: KeyQuery): Promise<KeptValue<readonly KeyEntry[]> | undefined> {
		const name = stateFileName('keys', keyQueryKey(query));
		const found = await this.#reader.load(name, 'keys', (body) => readKeysBody(body, query));
		return found?.value.length === 0 ? undefined : found;
	}

	/** What was kept of the services of a datacenter; '' for the registry's own. */
	loadList(datacenter: string): Promise<KeptList | undefined> {
		return this.#reader.load(stateFileName('list', datacenter), 'list', (body) => readListBody(body, datacenter));
	}

	/** Keeps an answer and when it was verified, in milliseconds since 1970. That nothing is left removes what was kept. */
	keep(query: ServiceQuery, instances: readonly ServiceInstance[], verifiedAt: number): void {
		const name = stateFileName('instances', queryKey(query));
		if (instances.length === 0) {
			this.#forget(name);
		} else {
			const body = (at: number): unknown => instancesBody(query, { instances, verifiedAt: at });
			this.#keep({ name, kind: 'instances', content: instances, body, verifiedAt });
		}
	}

	/** As `keep`, of keys. */
	keepKeys(query: KeyQuery, value: readonly KeyEntry[], verifiedAt: number): void {
		const name = stateFileName('keys', keyQueryKey(query));
		if (value.length === 0) {
			this.#forget(name);
		} else {
			const body = (at: number): unknown => keysBody(query, { value, verifiedAt: at });
			this.#keep({ name, kind: 'keys', content: value, body, verifiedAt });
		}
	}

	/** Keeps the list of services of a datacenter; the very same list again is not written again. */
	keepList(datacenter: string, services: readonly ServiceListEntry[], verifiedAt: number): void {
		const body = (at: number): unknown => listBody(datacenter, { services, verifiedAt: at });
		this.#keep({ name: stateFileName('list', datacenter), kind: 'list', content: services, body, verifiedAt });
	}

	/** Writes what is not written yet, within a bound; idempotent. */
	async close(): Promise<void> {
		if (this.#isClosed) return;
		this.#isClosed = true;
		this.#clock.clearTimeout(this.#timer);
		await settledWithin(this.#clock, CLOSE_MS_MAX, this.#lastFlush());
	}

	#keep({ content, ...kept }: ToKeep): void {
		if (this.#isClosed) return;
		const { name } = kept;
		const known = this.#kept.get(name);
		if (known === undefined || known.content.deref() !== content) {
			this.#kept.set(name, { ...kept, content: new WeakRef(content), checksum: undefined });
			this.#gone.delete(name);
			this.#enqueue(name);
			return;
		}
		known.verifiedAt = kept.verifiedAt;
		if (!this.#isVerifiedNews) this.#verifiedDueMs = this.#clock.now() + VERIFIED_DELAY_MS;
		this.#isVerifiedNews = true;
		this.#arm(VERIFIED_DELAY_MS);
	}

	#forget(name: string): void {
		// Services that nobody knows are asked for again and again: there is nothing to be removed but the first time.
		if (this.#isClosed || this.#gone.has(name)) return;
		if (this.#gone.size >= FILES_MAX) this.#gone.clear();
		this.#gone.add(name);
		this.#kept.delete(name);
		this.#enqueue(name);
	}

	/** Where the disk takes nothing, the oldest of what waits makes room: its next answer is written again. */
	#enqueue(name: string): void {
		const [oldest] = this.#pending;
		if (oldest !== undefined && this.#pending.size >= FILES_MAX && !this.#pending.has(name)) {
			this.#pending.delete(oldest);
			this.#kept.delete(oldest);
			this.#gone.delete(oldest);
		}
		this.#pending.add(name);
		this.#arm(WRITE_DELAY_MS);
	}

	/** Writes what is due after this delay, or sooner if that is planned already. */
	#arm(delayMs: number): void {
		if (this.#isClosed || this.#flushing !== undefined) return;
		const dueMs = this.#clock.now() + (this.#isFailing ? RETRY_DELAY_MS : delayMs);
		if (this.#timer !== undefined && this.#dueMs <= dueMs) return;
		this.#clock.clearTimeout(this.#timer);
		this.#dueMs = dueMs;
		this.#timer = this.#clock.setTimeout(() => {
			this.#timer = undefined;
			this.#flushing = this.#flush(false).finally(() => {
				this.#flushing = undefined;
				if (this.#pending.size > 0) this.#arm(WRITE_DELAY_MS);
				// Not anew from the end of this write: a slow disk would make the times on it that much older.
				else if (this.#isVerifiedNews) this.#arm(Math.max(0, this.#verifiedDueMs - this.#clock.now()));
			});
		}, dueMs - this.#clock.now());
		this.#timer.unref?.();
	}

	async #lastFlush(): Promise<void> {
		await this.#flushing;
		await this.#flush(true);
	}

	/** Never rejects: what could not be written is tried again, and told. */
	async #flush(isLast: boolean): Promise<void> {
		const batch = this.#pending;
		this.#pending = new Set();
		try {
			await this.#prepare();
			const failure = await this.#writeBatch(batch);
			if (this.#isVerifiedNews && (isLast || this.#clock.now() >= this.#verifiedDueMs)) await this.#writeVerified();
			if (this.#files.size > 0) await this.#directory.sync();
			if (failure !== undefined) throw failure;
			this.#isFailing = false;
		} catch (reason) {
			for (const name of batch) this.#pending.add(name);
			// The directory may have been taken away: it is made again.
			this.#prepared = undefined;
			const error = reason instanceof Error ? reason : new Error(String(reason));
			this.#onEvent({ type: 'state-write', outcome: 'failed', error, isNews: !this.#isFailing });
			this.#isFailing = true;
		}
	}

	/** Gives the first failure. What has failed stands behind the rest, so that no file keeps the others from being written. */
	async #writeBatch(batch: Set<string>): Promise<unknown> {
		const failed: string[] = [];
		let failure: unknown;
		for (const name of batch) {
			batch.delete(name);
			try {
				await this.#writeOrRemove(name);
			} catch (error) {
				failure ??= error;
				failed.push(name);
				if (failed.length >= FAILURES_MAX) break;
			}
		}
		for (const name of failed) batch.add(name);
		return failure;
	}

	#prepare(): Promise<void> {
		this.#prepared ??= this.#directory.prepare(this.#clock.wallNow()).then((names) => {
			for (const name of names) if (name !== VERIFIED_FILE) this.#files.add(name);
		});
		return this.#prepared;
	}

	async #writeOrRemove(name: string): Promise<void> {
		const kept = this.#kept.get(name);
		if (kept !== undefined && kept.body === undefined) return;
		this.#files.delete(name);
		if (kept?.body === undefined) {
			await this.#directory.remove(name);
			return;
		}
		await this.#makeRoom();
		const { text, checksum } = encodeStateFile(this.#scope, kept.kind, kept.body(kept.verifiedAt));
		await this.#directory.write(name, text);
		kept.checksum = checksum;
		kept.body = undefined;
		this.#files.add(name);
		this.#reader.written(name);
		this.#onEvent({ type: 'state-write', outcome: 'ok' });
	}

	/** For one more file. */
	async #makeRoom(): Promise<void> {
		for (const oldest of this.#files) {
			if (this.#files.size < FILES_MAX) return;
			this.#files.delete(oldest);
			this.#kept.delete(oldest);
			await this.#directory.remove(oldest);
		}
	}

	/** When each content was verified last; contents of an earlier process that are on disk still keep their times. */
	async #writeVerified(): Promise<void> {
		const times = new Map(await this.#reader.verified());
		for (const { checksum, verifiedAt } of this.#kept.values())
			if (checksum !== undefined) times.set(checksum, verifiedAt);
		const newest = [...times].sort(([, left], [, right]) => right - left).slice(0, FILES_MAX);
		const { text } = encodeStateFile(this.#scope, 'verified', Object.fromEntries(newest));
		// Verified again while this is written is news again.
		this.#isVerifiedNews = false;
		try {
			await this.#directory.write(VERIFIED_FILE, text);
		} catch (error) {
			this.#isVerifiedNews = true;
			throw error;
		}
		this.#reader.verifiedWritten(new Map(newest));
		this.#onEvent({ type: 'state-write', outcome: 'ok' });
	}
}
