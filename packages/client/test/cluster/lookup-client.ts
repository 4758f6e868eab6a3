import { setTimeout as delay } from 'node:timers/promises';

import { connect, type Diplomat } from '@spock/client';
import type { ServiceAddress, ServiceSnapshot } from '@spock/protocol';

import { isOf, print, servingIn } from './addressing.ts';
import type { Agreement, Tally } from './lookup-messages.ts';

/** Between two turns of a client. Longer, and a fault could slip in between; none, and the lookups would be the fault. */
const PAUSE_MS = 8;
/** Lookups in the process in one turn. */
const TURN = 4;
const EXAMPLES_MAX = 5;

/** What a client has of one service. */
interface Known {
	snapshot: ServiceSnapshot;
	text: string;
	/** When `text` last changed. */
	sinceMs: number;
}

type Counting = { -readonly [Key in keyof Agreement]: Agreement[Key] };

/** One client that looks up all its services without end, in the process and over the wire, and watches them as well. */
export class LookupClient {
	readonly #services: readonly string[];
	readonly #diplomat: Diplomat;
	readonly #known = new Map<string, Known>();
	readonly #answered = new Set<string>();
	#lookups = 0;
	#failed = 0;
	#wrong = 0;
	#longestAgeMs = 0;
	#examples: string[] = [];

	private constructor(diplomat: Diplomat, services: readonly string[]) {
		this.#diplomat = diplomat;
		this.#services = services;
	}

	/** Connects, and resolves when every service has been looked up once. */
	static async start(path: string, services: readonly string[]): Promise<LookupClient> {
		const client = new LookupClient(await connect({ path }), services);
		await client.#warmUp();
		void client.#lookUpHere();
		void client.#lookUpThere();
		return client;
	}

	/** What happened since the last tally. */
	tally(): Tally {
		const tally = {
			lookups: this.#lookups,
			failed: this.#failed,
			wrong: this.#wrong,
			longestAgeMs: this.#longestAgeMs,
			examples: this.#examples,
		};
		this.#lookups = this.#failed = this.#wrong = this.#longestAgeMs = 0;
		this.#examples = [];
		return tally;
	}

	agreement(expected: Readonly<Record<string, string>>): Agreement {
		const result: Counting = { differing: 0, differingLive: 0, example: null, sinceMs: 0, stale: 0, wrongPicks: 0 };
		for (const [service, text] of Object.entries(expected)) {
			const known = this.#known.get(service);
			if (known?.text === text) {
				result.sinceMs = Math.max(result.sinceMs, known.sinceMs);
				if (known.snapshot.source === 'last-known-good') result.stale++;
				continue;
			}
			result.differing++;
			if (known?.snapshot.source === 'live') result.differingLive++;
			result.example ??= `${service}: Consul has\n${text}\nand a client\n${known?.text ?? 'nothing'}`;
		}
		if (result.differing > 0) return result;
		for (const [service, text] of Object.entries(expected)) if (!this.#picksAll(service, text)) result.wrongPicks++;
		return result;
	}

	/** Round robin gives every instance once in as many lookups. */
	#picksAll(service: string, text: string): boolean {
		const serving = servingIn(text);
		const picked = new Set(serving.map(() => this.#diplomat.pick(service)?.instance));
		return serving.every((instance) => picked.has(instance)) && picked.size === serving.length;
	}

	async #warmUp(): Promise<void> {
		for (const service of this.#services) {
			await this.#diplomat.getService(service);
			this.#answered.add(service);
			void this.#watch(service);
		}
		while (this.#known.size < this.#services.length) await delay(PAUSE_MS);
	}

	async #watch(service: string): Promise<void> {
		for await (const snapshot of this.#diplomat.watchService(service)) {
			const text = print(snapshot.instances);
			const known = this.#known.get(service);
			if (known?.text === text) known.snapshot = snapshot;
			else this.#known.set(service, { snapshot, text, sinceMs: Date.now() });
		}
	}

	/** As apps do: from the snapshot in the process. */
	async #lookUpHere(): Promise<never> {
		for (let turn = 0; ; turn++) {
			for (let offset = 0; offset < TURN; offset++) {
				const service = this.#service(turn * TURN + offset);
				await this.#count(service, 'local', this.#diplomat.getService(service));
			}
			await delay(PAUSE_MS);
		}
	}

	/** Over the wire: what the sidecar itself says. */
	async #lookUpThere(): Promise<never> {
		for (let turn = 0; ; turn++) {
			const service = this.#service(turn);
			await this.#count(service, 'fresh', this.#diplomat.getService(service, { fresh: true }));
			await delay(PAUSE_MS);
		}
	}

	#service(turn: number): string {
		return this.#services[turn % this.#services.length] as string;
	}

	async #count(service: string, kind: string, lookup: Promise<ServiceAddress>): Promise<void> {
		this.#lookups++;
		try {
			const address = await lookup;
			this.#answered.add(service);
			this.#longestAgeMs = Math.max(this.#longestAgeMs, address.ageMs ?? 0);
			if (isOf(service, address)) return;
			this.#wrong++;
			this.#note(`${kind} ${service}: got ${JSON.stringify(address)}`);
		} catch (error) {
			if (!this.#answered.has(service)) return;
			this.#failed++;
			this.#note(`${kind} ${service}: ${String(error)}`);
		}
	}

	#note(example: string): void {
		if (this.#examples.length < EXAMPLES_MAX) this.#examples.push(`${new Date().toISOString()} ${example}`);
	}
}
