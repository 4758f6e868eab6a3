import { resolve } from 'node:path';

import {
	type BackendStatus,
	type CallOptions,
	type KeyEntry,
	type KeyQuery,
	queryKey,
	type ServiceInstance,
	type ServiceListEntry,
	type ServiceQuery,
	SpockError,
} from '@spock/protocol';
import { type Clock, durationMsOption, systemClock } from '@spock/protocol/internal';

import type { Backend, BackendObserver, BackendWatch } from '../../foundation/backend.ts';
import type { DiscoveryListener } from '../../foundation/discovery-event.ts';
import { askedInstances } from '../../foundation/good-instances.ts';
import { throwIfAborted } from '../../foundation/waiting.ts';
import { LocalKeyWatches } from './local-keys.ts';
import { LocalRegistrar } from './local-registrar.ts';
import { parseLocalFile, readLocalContent, ServicesFileError } from './services-file.ts';
import type { LocalContent, LocalServices, ServicesFileContent } from './services-file-reader.ts';
import { WatchedFile } from './watched-file.ts';

/** How often the file is looked at although nothing was heard of it: not every file system tells of its changes. */
export const DEFAULT_POLL_MS = 500;
const LISTS_MAX = 10_000;

/** Options of {@link createLocalBackend}. */
export interface LocalBackendOptions {
	/** A services file in JSON or YAML, read again when it changes. Default: none. */
	readonly file?: string;
	/** The services themselves, in the form of the file's member `services`, instead of a file. Default: none. */
	readonly services?: ServicesFileContent['services'];
	/** Keys, in the form of the file's member `keys`, instead of a file. Default: none. */
	readonly keys?: ServicesFileContent['keys'];
	/** How often to look whether the file has changed, besides listening for it; milliseconds. Default 500. */
	readonly pollMs?: number;
	/** Default: the clock of the process. */
	readonly clock?: Clock;
	readonly onEvent?: DiscoveryListener;
}

/** The embedded registry. */
export interface LocalBackend extends Backend {
	/** The names of the services it knows now, sorted. */
	services(): readonly string[];
	/** Looks at the file now and not at the next change; for tests and for a reload by signal. */
	reload(): Promise<void>;
}

/**
 * The embedded registry over a services file, or over services that are given. Rejects with a ServicesFileError if the
 * file is bad, with an Error if it cannot be read, and with a TypeError if the given services are wrong. Once it runs, a
 * bad or missing file changes nothing: what was read last is served, and `onEvent` told.
 */
export async function createLocalBackend(options: LocalBackendOptions = {}): Promise<LocalBackend> {
	const { file, services, keys, clock = systemClock, onEvent = () => undefined } = options;
	if (file !== undefined && (services !== undefined || keys !== undefined)) {
		throw new TypeError('give file or services, not both');
	}
	const pollMs = durationMsOption('pollMs', options.pollMs ?? DEFAULT_POLL_MS);
	const backend = new FileBackend({
		file: file === undefined ? undefined : resolve(file),
		given: readLocalContent({ services: services ?? {}, ...(keys && { keys }) }),
		pollMs,
		clock,
		onEvent,
	});
	await backend.open();
	return backend;
}

interface FileBackendOptions {
	readonly file: string | undefined;
	readonly given: LocalContent;
	readonly pollMs: number;
	readonly clock: Clock;
	readonly onEvent: DiscoveryListener;
}

interface Watching {
	readonly query: ServiceQuery;
	readonly observer: BackendObserver;
}

class FileBackend implements LocalBackend {
	readonly name = 'local';
	readonly trustsEmpty = true;
	readonly registrar: LocalRegistrar = new LocalRegistrar((services) => this.#tellOf(services));
	readonly #options: FileBackendOptions;
	readonly #watching = new Set<Watching>();
	readonly #keys: LocalKeyWatches;
	/** Undefined where the services are given. */
	readonly #file: WatchedFile | undefined;
	#services: LocalServices;
	// The same question gets the very same list until the file changes: readers compare by identity first.
	#lists = new Map<string, { readonly service: string; readonly list: readonly ServiceInstance[] }>();
	#text: string | undefined;
	/** The bad content that was reported last; null for a file that could not be read. */
	#refusedText: string | null | undefined;
	#error: Error | undefined;
	/** Until when the content was valid; while it is, not used. */
	#validUntilMs = 0;
	#closed = false;

	constructor(options: FileBackendOptions) {
		const { file } = options;
		this.#options = options;
		this.#services = options.given.services;
		this.#keys = new LocalKeyWatches(options.given.keys);
		this.#file =
			file === undefined
				? undefined
				: new WatchedFile({
						...options,
						file,
						read: (text) => this.#read(text, file),
						failed: (text, error) => this.#refuse(file, text, error),
					});
	}

	async open(): Promise<void> {
		const { file } = this.#options;
		if (file === undefined || this.#file === undefined) return;
		this.#load(await this.#file.open(), file);
		this.#file.follow();
	}

	services(): readonly string[] {
		return [...new Set([...this.#services.keys(), ...this.registrar.services()])].sort();
	}

	watch(query: ServiceQuery, observer: BackendObserver): BackendWatch {
		this.#refuseIfClosed();
		const watching = { query, observer };
		this.#watching.add(watching);
		observer.answered(this.#instances(query));
		return { stop: () => void this.#watching.delete(watching) };
	}

	watchKey(query: KeyQuery, observer: BackendObserver<readonly KeyEntry[]>): BackendWatch {
		this.#refuseIfClosed();
		return this.#keys.watch(query, observer);
	}

	async list(
		query: { readonly datacenter?: string } = {},
		{ signal }: CallOptions = {},
	): Promise<readonly ServiceListEntry[]> {
		this.#refuseIfClosed();
		throwIfAborted(signal);
		const entries: ServiceListEntry[] = [];
		for (const name of this.services()) {
			const instances = this.#instances({ service: name, ...query });
			if (query.datacenter !== undefined && instances.length === 0) continue;
			entries.push({ name, tags: [...new Set(instances.flatMap(({ tags }) => tags))].sort() });
		}
		return entries;
	}

	status(): BackendStatus {
		const { file, clock } = this.#options;
		return {
			name: this.name,
			state: this.#error === undefined ? 'up' : 'down',
			addresses: file === undefined ? [] : [file],
			error: this.#error?.message ?? null,
			lastSuccessAgeMs: this.#error === undefined ? 0 : Math.max(0, clock.now() - this.#validUntilMs),
		};
	}

	reload(): Promise<void> {
		return this.#file?.look() ?? Promise.resolve();
	}

	async close(): Promise<void> {
		this.#closed = true;
		this.#watching.clear();
		this.#keys.close();
		await this.#file?.close();
	}

	#refuseIfClosed(): void {
		if (this.#closed) throw new SpockError('CLOSED', 'the embedded registry was closed');
	}

	#read(text: string, file: string): void {
		if (text === this.#text) this.#accept(file);
		else if (text !== this.#refusedText) {
			this.#load(text, file);
			this.#tellAll();
		}
	}

	/** A registration changes the lists of its service: to make all others again was a third of a sidecar's time under many. */
	#tellOf(services: ReadonlySet<string>): void {
		for (const [key, { service }] of this.#lists) if (services.has(service)) this.#lists.delete(key);
		for (const { query, observer } of [...this.#watching]) {
			if (services.has(query.service)) observer.answered(this.#instances(query));
		}
	}

	#tellAll(): void {
		this.#lists = new Map();
		for (const { query, observer } of [...this.#watching]) observer.answered(this.#instances(query));
	}

	#load(text: string, file: string): void {
		const { services, keys } = parseLocalFile(text, file);
		this.#services = services;
		this.#text = text;
		this.#accept(file, true);
		this.#keys.replace(keys);
	}

	#accept(file: string, isNew = false): void {
		// A bad edit that was taken back is news as well, for whoever read the complaint.
		const isNews = isNew || this.#error !== undefined;
		this.#error = undefined;
		this.#refusedText = undefined;
		if (isNews) this.#options.onEvent({ type: 'services-file-loaded', file, services: this.#services.size });
	}

	#refuse(file: string, text: string | null, error: Error): void {
		// A file that is gone has no stamp: when it is back, it is new.
		if (!(error instanceof ServicesFileError)) this.#file?.forget();
		if (this.#refusedText === text) return;
		this.#refusedText = text;
		if (this.#error === undefined) this.#validUntilMs = this.#options.clock.now();
		this.#error = error;
		this.#options.onEvent({ type: 'services-file-refused', file, error });
	}

	#instances(query: ServiceQuery): readonly ServiceInstance[] {
		const key = queryKey(query);
		const known = this.#lists.get(key);
		if (known !== undefined) return known.list;
		const { service } = query;
		const filed = this.#services.get(service);
		const all = this.registrar.merge(service, filed ?? []);
		const list = key === service ? all : askedInstances(query, all);
		// Only of services that exist: questions about others would fill the memory one by one.
		if (filed !== undefined || all.length > 0) {
			if (this.#lists.size >= LISTS_MAX) this.#lists.clear();
			this.#lists.set(key, { service, list });
		}
		return list;
	}
}
