import { setTimeout as delay } from 'node:timers/promises';

import type { Diplomat } from '@spock/client';

import { portOf } from './call-load.ts';

const PAUSE_MS = 1;
const EXAMPLES_MAX = 5;

/** Lookups of services that have been answered before, without pause, as apps make them. None of them may fail. */
export class KnownLookups {
	counts = { lookups: 0, lookupsFailed: 0 };
	examples: string[] = [];
	readonly #diplomat: Diplomat;
	readonly #services: readonly string[];

	private constructor(diplomat: Diplomat, services: readonly string[]) {
		this.#diplomat = diplomat;
		this.#services = services;
	}

	/** Looks every service up once, which makes it known, and goes on for ever. */
	static async start(diplomat: Diplomat, services: readonly string[]): Promise<KnownLookups> {
		const lookups = new KnownLookups(diplomat, services);
		await lookups.turn();
		void lookups.#run();
		return lookups;
	}

	reset(): void {
		this.counts = { lookups: 0, lookupsFailed: 0 };
		this.examples = [];
	}

	/** Each service once. */
	async turn(): Promise<void> {
		for (const [index, service] of this.#services.entries()) {
			this.counts.lookups++;
			try {
				const { port } = await this.#diplomat.getService(service);
				if (port !== portOf(index)) throw new Error(`${service} was answered with port ${port}`);
			} catch (error) {
				this.counts.lookupsFailed++;
				if (this.examples.length < EXAMPLES_MAX) this.examples.push(`${service}: ${String(error)}`);
			}
		}
	}

	async #run(): Promise<never> {
		for (;;) {
			await this.turn();
			await delay(PAUSE_MS);
		}
	}
}
