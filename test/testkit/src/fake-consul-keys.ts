/** What a {@link FakeConsulKeys} answers to one query. */
export interface FakeKeysAnswer {
	readonly status: 200 | 404;
	readonly index: number;
	/** Absent for a 404. */
	readonly body?: readonly unknown[];
}

interface FakeKey {
	readonly bytes: Buffer;
	readonly createIndex: number;
	readonly modifyIndex: number;
}

/**
 * Consul's key-value store with the indexes that a real one gives: a key its own, what is not there the store's, a prefix the
 * newest of its keys and of those deleted from it.
 * Source: https://developer.hashicorp.com/consul/api-docs/kv#read-key
 */
export class FakeConsulKeys {
	readonly #keys = new Map<string, FakeKey>();
	readonly #deletedAt = new Map<string, number>();
	#index = 1;

	/** Sets a key at an index of the server. */
	set(key: string, value: string | Uint8Array, index: number): void {
		this.#index = index;
		const createIndex = this.#keys.get(key)?.createIndex ?? index;
		this.#keys.set(key, { bytes: Buffer.from(value), createIndex, modifyIndex: index });
	}

	/** Deletes a key at an index of the server. */
	delete(key: string, index: number): void {
		this.#index = index;
		this.#keys.delete(key);
		this.#deletedAt.set(key, index);
	}

	/** The answer to a path of the API; undefined for one that is not about keys. */
	answer(path: string, query: URLSearchParams): FakeKeysAnswer | undefined {
		const text = /^\/v1\/kv\/(.+)$/.exec(path)?.[1];
		if (text === undefined) return undefined;
		const key = decodeURIComponent(text);
		if (query.has('recurse')) return this.#list(key);
		const found = this.#keys.get(key);
		if (found === undefined) return { status: 404, index: this.#index };
		return { status: 200, index: found.modifyIndex, body: [toEntry(key, found)] };
	}

	#list(prefix: string): FakeKeysAnswer {
		const found = [...this.#keys].filter(([key]) => key.startsWith(prefix));
		const deleted = [...this.#deletedAt].filter(([key]) => key.startsWith(prefix)).map(([, index]) => index);
		const newest = Math.max(0, ...deleted, ...found.map(([, { modifyIndex }]) => modifyIndex));
		const index = newest === 0 ? this.#index : newest;
		if (found.length === 0) return { status: 404, index };
		return { status: 200, index, body: found.map(([key, one]) => toEntry(key, one)) };
	}
}

function toEntry(key: string, { bytes, createIndex, modifyIndex }: FakeKey): unknown {
	const value = bytes.length === 0 ? null : bytes.toString('base64');
	return { LockIndex: 0, Key: key, Flags: 0, Value: value, CreateIndex: createIndex, ModifyIndex: modifyIndex };
}
