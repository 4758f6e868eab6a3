import { connect, type Diplomat } from '@spock/client';
import { systemClock } from '@spock/protocol/internal';

export interface HostAndPort {
	readonly host: string;
	readonly port: number;
}

/**
 * What DNS tells of a service. The name server knows at once who is registered and healthy, as that of a cluster does; its
 * answer is used until its time to live is over, and only then is asked again.
 */
export class DnsAnswers {
	readonly #diplomat: Diplomat;
	readonly #service: string;
	readonly #ttlMs: number;
	#addresses: Promise<readonly HostAndPort[]> | undefined;
	#expiresMs = 0;
	#turn = 0;

	static async open(socket: string, service: string, ttlMs: number): Promise<DnsAnswers> {
		return new DnsAnswers(await connect({ path: socket }), service, ttlMs);
	}

	private constructor(diplomat: Diplomat, service: string, ttlMs: number) {
		this.#diplomat = diplomat;
		this.#service = service;
		this.#ttlMs = ttlMs;
	}

	/** All addresses; those that wait for the name server at the same time wait for one answer. */
	all(): Promise<readonly HostAndPort[]> {
		const nowMs = systemClock.now();
		if (this.#addresses === undefined || nowMs >= this.#expiresMs) {
			this.#addresses = this.#ask();
			this.#expiresMs = nowMs + this.#ttlMs;
		}
		return this.#addresses;
	}

	/** The next address in turn. */
	async next(): Promise<HostAndPort> {
		const addresses = await this.all();
		const address = addresses[this.#turn++ % addresses.length];
		if (address === undefined) throw new Error(`no address of ${this.#service}`);
		return address;
	}

	close(): Promise<void> {
		return this.#diplomat.close();
	}

	async #ask(): Promise<readonly HostAndPort[]> {
		const { instances } = await this.#diplomat.getInstances(this.#service, { fresh: true });
		return instances.filter(({ status }) => status === 'passing').map(({ host, port }) => ({ host, port }));
	}
}
