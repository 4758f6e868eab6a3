import { setTimeout as delay } from 'node:timers/promises';

import type { ConsulDirect } from './consul-direct.ts';

/** Edits of foreign services: some ten a second move the index of the catalog as often as anybody looks at it. */
const PAUSE_MS = 100;
const SERVICES = 20;

/** Services that nobody asks for and that change all the time. What they leave is no part of any comparison. */
export class ForeignNoise implements AsyncDisposable {
	readonly #end = new AbortController();
	readonly #running: Promise<void>;
	#isPaused = false;
	#edits = 0;

	constructor(consul: ConsulDirect) {
		this.#running = this.#run(consul);
	}

	get edits(): number {
		return this.#edits;
	}

	/** From now on nothing changes, or everything again. */
	toggle(): void {
		this.#isPaused = !this.#isPaused;
	}

	async [Symbol.asyncDispose](): Promise<void> {
		this.#end.abort();
		await this.#running;
	}

	async #run(consul: ConsulDirect): Promise<void> {
		while (!this.#end.signal.aborted) {
			await delay(PAUSE_MS);
			if (this.#isPaused) continue;
			const number = this.#edits++;
			const name = `foreign-${number % SERVICES}`;
			const body = { ID: name, Name: name, Address: '10.0.0.1', Port: 1, Tags: [String(number)] };
			await consul.put('/v1/agent/service/register', body);
		}
	}
}
