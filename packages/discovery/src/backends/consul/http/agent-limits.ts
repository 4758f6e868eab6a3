import type { Clock } from '@spock/protocol/internal';

import type { ConsulEndpoint } from '../client/consul-endpoints.ts';
import { readConnectionsMax } from '../client/consul-probe.ts';
import type { HeldRoom } from './held-room.ts';

/** An agent is not asked again before: its limit changes with its configuration alone. */
const AGAIN_MS = 600_000;

/** What {@link AgentLimits} need. */
export interface AgentLimitsOptions {
	readonly clock: Clock;
	readonly endpoints: readonly ConsulEndpoint[];
	readonly room: HeldRoom;
	readonly token: () => Promise<string | undefined>;
	/** An agent allows more than was known. */
	readonly moreRoom: () => void;
}

/**
 * What the agents themselves allow, which is asked for once there are more services than room: an operator who raises
 * `http_max_conns_per_client` need not repeat it here.
 * Source: https://developer.hashicorp.com/consul/docs/agent/config/config-files#http_max_conns_per_client
 */
export class AgentLimits {
	readonly #options: AgentLimitsOptions;
	readonly #askedAtMs = new Map<number, number>();
	readonly #stopped = new AbortController();

	constructor(options: AgentLimitsOptions) {
		this.#options = options;
	}

	/** Asks each agent whose places are all taken, unless it was asked lately; first whether it can be reached from further addresses. */
	look(): void {
		const { clock, endpoints, room } = this.#options;
		const nowMs = clock.now();
		for (const number of endpoints.keys()) {
			const askedAtMs = this.#askedAtMs.get(number) ?? Number.NEGATIVE_INFINITY;
			if (!room.isUsedUp(number) || nowMs - askedAtMs < AGAIN_MS) continue;
			this.#askedAtMs.set(number, nowMs);
			void this.#ask(number);
		}
	}

	/** Idempotent; no limit is changed after it. */
	stop(): void {
		this.#stopped.abort();
	}

	async #ask(number: number): Promise<void> {
		const { clock, endpoints, room, token, moreRoom } = this.#options;
		const { signal } = this.#stopped;
		const endpoint = endpoints[number] as ConsulEndpoint;
		// Its limit is for each address.
		const hasFurther = await endpoint.hasFurtherSources();
		// Whatever is wrong with the token, the queries report it.
		const read = hasFurther ? undefined : await token().catch(() => undefined);
		const connectionsMax = hasFurther ? 0 : await readConnectionsMax(endpoint, clock, read, signal);
		if (signal.aborted || connectionsMax === undefined || !room.allowed(number, connectionsMax)) return;
		if (!hasFurther) endpoint.widen(room.socketsMax(number));
		moreRoom();
	}
}
