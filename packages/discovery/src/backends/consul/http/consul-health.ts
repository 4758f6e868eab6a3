import type { IncomingMessage } from 'node:http';

import type { BackendStatus, SpockError } from '@spock/protocol';
import type { Clock } from '@spock/protocol/internal';

import type { DiscoveryListener } from '../../../foundation/discovery-event.ts';
import { readAnswerMeta } from '../client/answer-headers.ts';

/** How Consul was when it was asked last, and the events that report it. */
export class ConsulHealth {
	readonly #clock: Clock;
	readonly #onEvent: DiscoveryListener | undefined;
	#lastSuccessAtMs: number | undefined;
	#error: SpockError | undefined;

	constructor(clock: Clock, onEvent: DiscoveryListener | undefined) {
		this.#clock = clock;
		this.#onEvent = onEvent;
	}

	/** True while Consul's last word was that it does not know the token: that is so for every query, the held ones too. */
	get isTokenUnknown(): boolean {
		return this.#error?.details['isUnknownToken'] === true;
	}

	/** All but the name and the addresses. */
	status(): Pick<BackendStatus, 'state' | 'error' | 'lastSuccessAgeMs'> {
		const sinceMs = this.#lastSuccessAtMs;
		return {
			state: this.#error !== undefined ? 'down' : sinceMs === undefined ? 'connecting' : 'up',
			error: this.#error?.message ?? null,
			lastSuccessAgeMs: sinceMs === undefined ? null : Math.max(0, this.#clock.now() - sinceMs),
		};
	}

	succeeded(startedAtMs: number, { headers }: Pick<IncomingMessage, 'headers'>): void {
		const nowMs = this.#clock.now();
		this.#lastSuccessAtMs = nowMs;
		this.#error = undefined;
		const { ageMs, lastContactMs, knownLeader, cache } = readAnswerMeta({ headers });
		this.#onEvent?.({
			type: 'backend-query',
			outcome: 'ok',
			durationMs: nowMs - startedAtMs,
			ageMs,
			...(lastContactMs !== undefined && { lastContactMs }),
			...(knownLeader !== undefined && { knownLeader }),
			...(cache && { cache }),
		});
	}

	/** No caller asks any more for what failed; only where something else was answered before. */
	forget(): void {
		if (this.#lastSuccessAtMs !== undefined) this.#error = undefined;
	}

	/** Not called for what is not Consul's fault. */
	failed(startedAtMs: number, error: SpockError): void {
		this.#error = error;
		const durationMs = this.#clock.now() - startedAtMs;
		this.#onEvent?.({ type: 'backend-query', outcome: 'failed', durationMs, error });
	}
}
