import type { ServiceSnapshot } from '@spock/protocol';
import { SpockError } from '@spock/protocol';

import type { WireClient } from '../client/wire-client.ts';
import type { RecordWriter } from './record-writer.ts';

/** A sidecar allows one connection so many subscriptions by default. */
const SERVICES_MAX = 4096;
/** Asked for at once, each of which may make the sidecar ask its registry. */
const AT_ONCE = 64;

/** The services that are followed on one connection, each change of which is written. */
export class RecordedServices {
	readonly #client: WireClient;
	readonly #writer: RecordWriter;
	readonly #timeoutMs: number;
	/** True for those that are followed; a list while the first answer is waited for: pushes that overtake it. */
	readonly #followed = new Map<string, true | ServiceSnapshot[]>();

	constructor(client: WireClient, writer: RecordWriter, timeoutMs: number) {
		this.#client = client;
		this.#writer = writer;
		this.#timeoutMs = timeoutMs;
		client.onPush = (event, data) => {
			if (event === 'service') this.#pushed(data as ServiceSnapshot);
		};
	}

	/** Follows those that are not followed yet: the named ones, or all that there are. Gives how many it could not. */
	async look(named: readonly string[] | undefined): Promise<number> {
		const names = named ?? (await this.#list());
		const missing = names.filter((name) => !this.#followed.has(name));
		const room = SERVICES_MAX - this.#followed.size;
		let failed = Math.max(0, missing.length - room);
		for (let first = 0; first < Math.min(missing.length, room); first += AT_ONCE) {
			const some = missing.slice(first, Math.min(first + AT_ONCE, room));
			const outcomes = await Promise.all(some.map((name) => this.#follow(name)));
			failed += outcomes.filter((isFollowed) => !isFollowed).length;
		}
		return failed;
	}

	async #list(): Promise<string[]> {
		const { services } = await this.#client.request('listServices', {}, this.#timeoutMs);
		return services.map(({ name }) => name);
	}

	/** False if there is no answer yet; rejects with what does not pass. */
	async #follow(service: string): Promise<boolean> {
		const overtaking: ServiceSnapshot[] = [];
		this.#followed.set(service, overtaking);
		try {
			const first = await this.#client.request('watchService', { service }, this.#timeoutMs);
			this.#followed.set(service, true);
			this.#writer.snapshot(first);
			for (const snapshot of overtaking) if (snapshot.revision > first.revision) this.#writer.snapshot(snapshot);
			return true;
		} catch (error) {
			this.#followed.delete(service);
			if (SpockError.is(error) && error.retryable) return false;
			throw error;
		}
	}

	#pushed(snapshot: ServiceSnapshot): void {
		const followed = this.#followed.get(snapshot.service);
		if (followed === true) this.#writer.snapshot(snapshot);
		else followed?.push(snapshot);
	}
}
