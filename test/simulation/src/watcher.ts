import { type ServiceQuery, type ServiceSnapshot, SpockError } from '@spock/protocol';

import { questionName } from './question-name.ts';
import type { SimClient } from './sim-client.ts';

/** A loop over the changes of one service, as an app has it. */
export class Watcher {
	readonly query: ServiceQuery;
	/** The snapshot that came last. */
	last: ServiceSnapshot | undefined;
	lastVersion = 0;
	#instance: string | null = null;
	readonly #client: SimClient;
	readonly #controller = new AbortController();

	constructor(client: SimClient, query: ServiceQuery) {
		this.query = query;
		this.#client = client;
		void this.#run();
	}

	stop(): void {
		this.#client.watchers.delete(this);
		this.#controller.abort();
	}

	async #run(): Promise<void> {
		const { diplomat, world, process } = this.#client;
		try {
			for await (const snapshot of diplomat.watchService(this.query, { signal: this.#controller.signal })) {
				if (!process.isAlive || this.#client.isEnding) return;
				this.#take(snapshot);
			}
		} catch (error) {
			if (
				this.#client.isEnding ||
				(SpockError.is(error) && ['ACL_DENIED', 'OVERLOADED', 'CLOSED'].includes(error.code))
			)
				return;
			world.fail('errors are those that may come', `watchService failed: ${String((error as Error)?.stack)}`);
		} finally {
			this.#client.watchers.delete(this);
		}
	}

	#take(snapshot: ServiceSnapshot): void {
		const { world, checks, diplomat, isConnected, process } = this.#client;
		const { instance } = diplomat.status();
		const version = checks.snapshot(this.query, snapshot, { isConnected });
		if (version === undefined) return;
		const isOlder = version > 0 && version < this.lastVersion;
		if (instance === this.#instance && isOlder) {
			const text = `${process.name} was told version ${version} of ${questionName(this.query)} after ${this.lastVersion}`;
			world.fail('revisions never go back', text);
		}
		this.#instance = instance;
		this.last = snapshot;
		if (version > 0) this.lastVersion = version;
	}
}
