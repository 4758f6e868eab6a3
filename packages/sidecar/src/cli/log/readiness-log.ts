import type { Clock } from '@spock/protocol/internal';
import type { Logger } from 'pino';

import type { ReadyState } from '../../foundation/observer.ts';

/** Another reason for the same state is told at most once in this time. */
export const REASON_MS_MIN = 60_000;

/** Writes a line when a sidecar becomes ready, and when it is not, and why. */
export class ReadinessLog {
	readonly #log: Pick<Logger, 'info' | 'warn'>;
	readonly #clock: Pick<Clock, 'now'>;
	#told: { readonly kind: string; readonly reason: string; readonly atMs: number } | undefined;

	constructor(log: Pick<Logger, 'info' | 'warn'>, clock: Pick<Clock, 'now'>) {
		this.#log = log;
		this.#clock = clock;
	}

	/** It may be another than before: a change is told at once, another reason seldom. */
	changed({ ready, reasons }: ReadyState): void {
		const log = this.#log;
		const reason = reasons.join('; ');
		const kind = `${ready} ${reason !== ''}`;
		const atMs = this.#clock.now();
		const told = this.#told;
		if (told?.kind === kind && (told.reason === reason || atMs - told.atMs < REASON_MS_MIN)) return;
		this.#told = { kind, reason, atMs };
		if (!ready) log.warn({ reason }, `not ready: ${reason}`);
		else if (reason !== '') log.warn({ reason }, `ready: ${reason}`);
		else log.info('ready');
	}
}
