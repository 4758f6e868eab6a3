import { join } from 'node:path';

import type { DiscoveryListener } from '../foundation/discovery-event.ts';
import { readVerifiedBody } from './state-body.ts';
import type { StateDirectory } from './state-directory.ts';
import { decodeStateFile, StateFileError, type StateKind } from './state-file.ts';

/** The file with the times of verification. */
export const VERIFIED_FILE = 'verified.json';
/** Most refused files that are remembered. */
const REFUSED_MAX = 10_000;

/** What a {@link StateReader} needs. */
export interface StateReaderOptions {
	readonly directory: StateDirectory;
	readonly scope: string;
	readonly onEvent: DiscoveryListener;
}

/** Reads the files of an earlier process. An unusable file is reported once, and treated as missing. */
export class StateReader {
	readonly #options: StateReaderOptions;
	#verified: Promise<Map<string, number>> | undefined;
	/** Files that were refused already, so that each is reported once. */
	readonly #refused = new Set<string>();

	constructor(options: StateReaderOptions) {
		this.#options = options;
	}

	/** When each content on disk was verified last, by checksum. */
	verified(): Promise<ReadonlyMap<string, number>> {
		this.#verified ??= this.#read(VERIFIED_FILE, 'verified', readVerifiedBody).then((found) => found ?? new Map());
		return this.#verified;
	}

	/** Takes over the times that were just written. */
	verifiedWritten(times: Map<string, number>): void {
		this.#verified = Promise.resolve(times);
	}

	/** The file is usable again, so that a new fault is reported. */
	written(name: string): void {
		this.#refused.delete(name);
	}

	/** One content, with the time at which it was verified last. */
	async load<T extends { readonly verifiedAt: number }>(
		name: string,
		kind: StateKind,
		readBody: (body: unknown) => T,
	): Promise<T | undefined> {
		const [loaded, times] = await Promise.all([
			this.#read(name, kind, (body, checksum) => ({ found: readBody(body), checksum })),
			this.verified(),
		]);
		if (loaded === undefined) return undefined;
		const { found, checksum } = loaded;
		return { ...found, verifiedAt: Math.max(found.verifiedAt, times.get(checksum) ?? 0) };
	}

	async #read<T>(name: string, kind: StateKind, use: (body: unknown, checksum: string) => T): Promise<T | undefined> {
		const { directory, scope } = this.#options;
		try {
			const text = await directory.read(name);
			if (text === undefined) return undefined;
			const { body, checksum } = decodeStateFile(text, scope, kind);
			return use(body, checksum);
		} catch (error) {
			this.#refuse(name, error as Error);
			return undefined;
		}
	}

	#refuse(name: string, error: Error): void {
		if (this.#refused.has(name)) return;
		if (this.#refused.size >= REFUSED_MAX) this.#refused.clear();
		this.#refused.add(name);
		const { directory, onEvent } = this.#options;
		const refusal = error instanceof StateFileError ? error.refusal : 'unreadable';
		onEvent({ type: 'state-refused', file: join(directory.path, name), refusal, reason: error.message });
	}
}
