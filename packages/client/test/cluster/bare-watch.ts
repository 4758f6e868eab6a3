import { setTimeout as delay } from 'node:timers/promises';

import type { ConsulAgent } from '@spock/testkit/consul-cluster';

import { type HealthEntry, printEntries, serviceName } from './addressing.ts';

/** As the sidecar's own queries. */
const WAIT_S = 55;
const ANSWER_MS_MAX = 62_000;
const RETRY_MS = 100;

/** What one blocking query after the other at an agent shows of a service, with nothing between: the best that a client can do. */
export class BareWatch implements Disposable {
	readonly #agent: ConsulAgent;
	readonly #service: number;
	#isOver = false;
	#text: string | undefined;
	#sinceMs = 0;

	constructor(agent: ConsulAgent, service: number) {
		this.#agent = agent;
		this.#service = service;
		void this.#run();
	}

	/** When it came to see this of its service, in milliseconds since 1970; undefined if it sees something else. */
	sinceMs(expected: Readonly<Record<string, string>>): number | undefined {
		return this.#text === expected[serviceName(this.#service)] ? this.#sinceMs : undefined;
	}

	[Symbol.dispose](): void {
		this.#isOver = true;
	}

	async #run(): Promise<void> {
		let last = 0;
		while (!this.#isOver) {
			try {
				const path = `/v1/health/service/${serviceName(this.#service)}?stale&index=${last}&wait=${WAIT_S}s`;
				const { status, index, bytes } = await this.#agent.ask({ path, timeoutMs: ANSWER_MS_MAX });
				if (status !== 200) throw new Error(`${status}`);
				last = index < last ? 0 : index;
				const text = printEntries(JSON.parse(bytes.toString()) as HealthEntry[]);
				if (text !== this.#text) this.#sinceMs = Date.now();
				this.#text = text;
			} catch {
				// The fault of the moment. The index of an agent that is away means nothing to the next one.
				last = 0;
				await delay(RETRY_MS);
			}
		}
	}
}
