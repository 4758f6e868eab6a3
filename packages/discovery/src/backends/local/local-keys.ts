import { type KeyEntry, type KeyQuery, keyQueryKey, NAME_LENGTH_MAX, SpockError } from '@spock/protocol';

import type { BackendObserver, BackendWatch } from '../../foundation/backend.ts';
import { sortEntries, toKeyEntry } from '../../foundation/key-entry.ts';

/** The keys of a services file. */
export type LocalKeys = ReadonlyMap<string, KeyEntry>;

/** Keys as a services file writes them: text as it is, anything else as its JSON, nothing as no bytes. */
export type LocalKeysContent = Readonly<Record<string, unknown>>;

/** Answers remembered; all of them are forgotten when the file changes. */
const ANSWERS_MAX = 1000;

/** Reads the member `keys`. `fail` is told which key is wrong, and why; it throws. */
export function readKeys(content: LocalKeysContent, fail: (key: string, reason: string) => never): LocalKeys {
	const keys = new Map<string, KeyEntry>();
	for (const [key, value] of Object.entries(content)) {
		if (key === '' || key.length > NAME_LENGTH_MAX) {
			fail(key, `a key needs a name of 1 to ${NAME_LENGTH_MAX} characters`);
		}
		const given = value ?? '';
		const text = typeof given === 'string' ? given : JSON.stringify(given);
		try {
			keys.set(key, toKeyEntry(key, Buffer.from(text)));
		} catch (error) {
			fail(key, SpockError.from(error).message);
		}
	}
	return keys;
}

interface Watching {
	readonly query: KeyQuery;
	readonly observer: BackendObserver<readonly KeyEntry[]>;
}

/** The keys that the embedded registry has now, and who is told when they change. */
export class LocalKeyWatches {
	readonly #watching = new Set<Watching>();
	#keys: LocalKeys;
	// The same question gets the very same answer until the keys change: readers compare by identity first.
	#answers = new Map<string, readonly KeyEntry[]>();

	constructor(keys: LocalKeys) {
		this.#keys = keys;
	}

	watch(query: KeyQuery, observer: BackendObserver<readonly KeyEntry[]>): BackendWatch {
		const watching = { query, observer };
		this.#watching.add(watching);
		this.#notify(watching);
		return { stop: () => void this.#watching.delete(watching) };
	}

	/** Other keys from now on; tells every watch. */
	replace(keys: LocalKeys): void {
		this.#keys = keys;
		this.#answers = new Map();
		for (const watching of [...this.#watching]) if (this.#watching.has(watching)) this.#notify(watching);
	}

	close(): void {
		this.#watching.clear();
	}

	#notify({ query, observer }: Watching): void {
		let answer: readonly KeyEntry[];
		try {
			answer = this.#answer(query);
		} catch (error) {
			observer.failed(SpockError.from(error));
			return;
		}
		observer.answered(answer);
	}

	/** Throws FRAME_TOO_LARGE. The file has no datacenters: a query for one gets what every other gets. */
	#answer(query: KeyQuery): readonly KeyEntry[] {
		const name = keyQueryKey(query);
		let answer = this.#answers.get(name);
		if (answer === undefined) {
			answer = sortEntries(query, this.#find(query));
			if (this.#answers.size >= ANSWERS_MAX) this.#answers.clear();
			this.#answers.set(name, answer);
		}
		return answer;
	}

	#find({ key, prefix }: KeyQuery): KeyEntry[] {
		if (prefix === true) return [...this.#keys.values()].filter((entry) => entry.key.startsWith(key));
		const entry = this.#keys.get(key);
		return entry === undefined ? [] : [entry];
	}
}
