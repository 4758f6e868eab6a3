import type { EventStore, StoreReader, StoreReaderOptions } from '../foundation/event-store.ts';
import type { LogEvent } from '../foundation/log-record.ts';

/** A store that is made at its first use, and where that fails at the next. Calls keep their order. */
export class DeferredStore<Store extends EventStore> implements EventStore {
	readonly name: string;
	readonly #make: () => Promise<Store>;
	#store: Promise<Store> | undefined;

	constructor(name: string, make: () => Promise<Store>) {
		this.name = name;
		this.#make = make;
	}

	async append(stream: string, events: readonly LogEvent[], stored: (position: number) => void): Promise<void> {
		await (await this.#used()).append(stream, events, stored);
	}

	async lastOf(stream: string): Promise<number | undefined> {
		return await (await this.#used()).lastOf(stream);
	}

	async holds(stream: string, position: number): Promise<boolean> {
		return await (await this.#used()).holds(stream, position);
	}

	async reader(stream: string, options: StoreReaderOptions): Promise<StoreReader> {
		return await (await this.#used()).reader(stream, options);
	}

	async deleteGroup(stream: string, group: string): Promise<void> {
		await (await this.#used()).deleteGroup(stream, group);
	}

	leave(stream: string): void {
		// One that cannot be made keeps nothing.
		this.#store?.then(
			(store) => store.leave?.(stream),
			() => undefined,
		);
	}

	async close(): Promise<void> {
		// One that cannot be made has nothing to be closed.
		await (await this.#store?.catch(() => undefined))?.close();
	}

	#used(): Promise<Store> {
		this.#store ??= this.#make().catch((error: unknown) => {
			this.#store = undefined;
			throw error;
		});
		return this.#store;
	}
}
