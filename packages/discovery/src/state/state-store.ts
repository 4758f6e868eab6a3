import {
	type KeyEntry,
	type KeyQuery,
	keyQueryKey,
	queryKey,
	type ServiceInstance,
	type ServiceListEntry,
	type ServiceQuery,
} from '@spock/protocol';
import { type Clock, integerOption, stringOption, type TimerHandle } from '@spock/protocol/internal';

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

/** Changes are collected for this long: a flapping service costs one write a second. */
const WRITE_DELAY_MS = 1000;
/** How often times of verification are written: an age on disk is at most this much too high, and never too low. */
const VERIFIED_DELAY_MS = 30_000;
/** Failures after which a batch is postponed: then the disk is at fault, and not one file. */
const FAILURES_MAX = 16;
/** The delay after a failed write. */
const RETRY_DELAY_MS = 5000;
/** Most files in the directory, and most that wait to be written; the oldest is dropped. */
const FILES_MAX = 10_000;
/** Most bytes of the files together, by default: the volume of the manifests, less than which a pod is not evicted, has 64 MiB. */
export const DEFAULT_STATE_BYTES_MAX: number = 48 * 1024 * 1024;
/** A hanging disk must not delay the end of the process. */
const CLOSE_MS_MAX = 2000;

/** Options of {@link StateStore}. */
export interface StateStoreOptions {
	readonly stateDir: string;
	readonly stateScope: string;
	/** Most bytes of the files together; the least recently written go. Default 48 MiB. */
	readonly stateBytesMax?: number | undefined;
	readonly clock: Clock;
	readonly onEvent: DiscoveryListener;
}

/** The content of one file, written or not. */
interface Kept {
	readonly name: string;
	readonly kind: StateKind;
	/** Compared by identity, so that the same content is not written again. Weak, because written content need not stay in memory. */
	readonly content: WeakRef<object>;
	/** What to write; undefined once it is written. */
	body: ((verifiedAt: number) => unknown) | undefined;
	verifiedAt: number;
	/** The checksum on disk; undefined until it is written. */
	checksum: string | undefined;
}

/** Content to store. */
type ToKeep = Omit<Kept, 'content' | 'checksum'> & { readonly content: object };

/**
 * Last known answers that survive the process. Each query has a file, so that a change costs one small write, and a start reads only
 * what is queried. Files are written in the background, one at a time.
 */
export class StateStore {
	readonly #directory: StateDirectory;
	readonly #reader: StateReader;
	readonly #scope: string;
	readonly #clock: Clock;
	readonly #onEvent: DiscoveryListener;
	/** The bytes of the existing files, least recently written first. */
	readonly #files = new Map<string, number>();
	#filesBytes = 0;
	readonly #bytesMax: number;
	readonly #kept = new Map<string, Kept>();
	/** Files that were removed, or never existed. */
	readonly #gone = new Set<string>();
	/** Names of files to write, or to remove if their content is gone. */
	#pending = new Set<string>();
	#isVerifiedNews = false;
	#verifiedDueMs = 0;
	#prepared: Promise<void> | undefined;
	#flushing: Promise<void> | undefined;
	#timer: TimerHandle | undefined;
	#dueMs = 0;
	#isFailing = false;
	#isClosed = false;

	constructor({ stateDir, stateScope, clock, onEvent, stateBytesMax = DEFAULT_STATE_BYTES_MAX }: StateStoreOptions) {
		this.#bytesMax = integerOption('stateBytesMax', stateBytesMax, 1, Number.MAX_SAFE_INTEGER);
		this.#directory = new StateDirectory(stringOption('stateDir', stateDir));
		this.#reader = new StateReader({ directory: this.#directory, scope: stateScope, onEvent });
		this.#scope = stateScope;
		this.#clock = clock;
		this.#onEvent = onEvent;
	}

	/** The stored answer to a query; undefined if none is usable, which is reported once to `onEvent`. */
	async load(query: ServiceQuery): Promise<KeptInstances | undefined> {
		const name = stateFileName('instances', queryKey(query));
		const found = await this.#reader.load(name, 'instances', (body) => readInstancesBody(body, query));
		return found?.instances.length === 0 ? undefined : found;
	}

	/** As `load`, for a key or prefix. */
	async loadKeys(query: KeyQuery): Promise<KeptValue<readonly KeyEntry[]> | undefined> {
		const name = stateFileName('keys', keyQueryKey(query));
		const found = await this.#reader.load(name, 'keys', (body) => readKeysBody(body, query));
		return found?.value.length === 0 ? undefined : found;
	}

	/** The stored list of services of a datacenter; '' for the registry's own. */
	loadList(datacenter: string): Promise<KeptList | undefined> {
		return this.#reader.load(stateFileName('list', datacenter), 'list', (body) => readListBody(body, datacenter));
	}

	/** Stores an answer and when it was verified, in milliseconds since 1970. An empty answer removes the stored one. */
	keep(query: ServiceQuery, instances: readonly ServiceInstance[], verifiedAt: number): void {
		const name = stateFileName('instances', queryKey(query));
		if (instances.length === 0) {
			this.#forget(name);
		} else {
			const body = (at: number): unknown => instancesBody(query, { instances, verifiedAt: at });
			this.#keep({ name, kind: 'instances', content: instances, body, verifiedAt });
		}
	}

	/** As `keep`, for keys. */
	keepKeys(query: KeyQuery, value: readonly KeyEntry[], verifiedAt: number): void {
		const name = stateFileName('keys', keyQueryKey(query));
		if (value.length === 0) {
			this.#forget(name);
		} else {
			const body = (at: number): unknown => keysBody(query, { value, verifiedAt: at });
			this.#keep({ name, kind: 'keys', content: value, body, verifiedAt });
		}
	}

	/** Stores the list of services of a datacenter; the same object is not written again. */
	keepList(datacenter: string, services: readonly ServiceListEntry[], verifiedAt: number): void {
		const body = (at: number): unknown => listBody(datacenter, { services, verifiedAt: at });
		this.#keep({ name: stateFileName('list', datacenter), kind: 'list', content: services, body, verifiedAt });
	}

	/** Writes what is still waiting, within a time limit; idempotent. */
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
		// Unknown services are queried again and again: there is only something to remove the first time.
		if (this.#isClosed || this.#gone.has(name)) return;
		if (this.#gone.size >= FILES_MAX) this.#gone.clear();
		this.#gone.add(name);
		this.#kept.delete(name);
		this.#enqueue(name);
	}

	/** If the disk accepts nothing, drops the oldest waiting content: its next answer is written again. */
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

	/** Schedules a write after this delay, unless one is scheduled already. */
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
				// Not counted from the end of this write: a slow disk would make its times that much older.
				else if (this.#isVerifiedNews) this.#arm(Math.max(0, this.#verifiedDueMs - this.#clock.now()));
			});
		}, dueMs - this.#clock.now());
		this.#timer.unref?.();
	}

	async #lastFlush(): Promise<void> {
		await this.#flushing;
		await this.#flush(true);
	}

	/** Never rejects: what could not be written is retried and reported. */
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
			// The directory may have been removed: create it again.
			this.#prepared = undefined;
			const error = reason instanceof Error ? reason : new Error(String(reason));
			this.#onEvent({ type: 'state-write', outcome: 'failed', error, isNews: !this.#isFailing });
			this.#isFailing = true;
		}
	}

	/** Returns the first failure. Failed files go to the end, so that none blocks the others. */
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
		this.#prepared ??= this.#directory.prepare(this.#clock.wallNow()).then((files) => {
			for (const [name, bytes] of files) if (name !== VERIFIED_FILE) this.#countFile(name, bytes);
		});
		return this.#prepared;
	}

	async #writeOrRemove(name: string): Promise<void> {
		const kept = this.#kept.get(name);
		if (kept !== undefined && kept.body === undefined) return;
		if (kept?.body === undefined) {
			this.#countFile(name, undefined);
			await this.#directory.remove(name);
			return;
		}
		const { text, checksum } = encodeStateFile(this.#scope, kept.kind, kept.body(kept.verifiedAt));
		const bytes = Buffer.byteLength(text);
		// The old file, which is still there while the new one is written, counts until then.
		await this.#makeRoom(bytes, name);
		await this.#directory.write(name, text);
		kept.checksum = checksum;
		kept.body = undefined;
		this.#countFile(name, bytes);
		this.#reader.written(name);
		this.#onEvent({ type: 'state-write', outcome: 'ok' });
	}

	/** Makes room for a file of so many bytes. */
	async #makeRoom(bytes: number, name: string): Promise<void> {
		for (const oldest of [...this.#files.keys()]) {
			if (this.#files.size < FILES_MAX && this.#filesBytes + bytes <= this.#bytesMax) return;
			if (oldest === name) continue;
			this.#countFile(oldest, undefined);
			this.#kept.delete(oldest);
			await this.#directory.remove(oldest);
		}
	}

	/** A file has so many bytes now, and was written last; undefined: it is not there. */
	#countFile(name: string, bytes: number | undefined): void {
		this.#filesBytes += (bytes ?? 0) - (this.#files.get(name) ?? 0);
		this.#files.delete(name);
		if (bytes !== undefined) this.#files.set(name, bytes);
	}

	/** When each content was verified last; files of an earlier process keep their times. */
	async #writeVerified(): Promise<void> {
		const times = new Map(await this.#reader.verified());
		for (const { checksum, verifiedAt } of this.#kept.values())
			if (checksum !== undefined) times.set(checksum, verifiedAt);
		const newest = [...times].sort(([, left], [, right]) => right - left).slice(0, FILES_MAX);
		const { text } = encodeStateFile(this.#scope, 'verified', Object.fromEntries(newest));
		// A verification during this write is written with the next one.
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
