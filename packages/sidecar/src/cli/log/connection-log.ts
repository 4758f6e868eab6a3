import { type Clock, systemClock } from '@spock/protocol/internal';
import type { Logger } from 'pino';

import type { ReadyState, SidecarObserver, TracedRequest } from '../../foundation/observer.ts';
import type { TakeOverEvent } from '../../take-over/take-over.ts';
import type { LimitedLog, LogLines } from './limited-log.ts';

/** Writes what happens to connections and to the process, and which traced requests failed or took `slowRequestMs`. */
export function connectionLog(log: Logger, limited: LimitedLog, slowRequestMs: number): SidecarObserver {
	let hasServed = false;
	const readiness = new ReadinessLog(log, systemClock);
	return {
		traced: traceLog(limited.of('request'), slowRequestMs),
		connectionOpened: (connection) => log.debug({ connection }, 'client connected'),
		greeted: (client) => log.debug(client, 'client sent hello'),
		notLeft: (clients, count, how) => {
			if (how === 'waited for') log.info({ clients, count }, 'clients have not left yet');
			else log.warn({ clients, count }, 'clients have not left; closing their connections');
		},
		connectionClosed: (_, reason, bytesRead, bytesWritten, client) => {
			const log = limited.of('connection');
			const level = reason === 'client' || reason === 'shutdown' ? 'debug' : 'warn';
			log[level]({ ...client, reason, bytesRead, bytesWritten }, 'connection closed');
		},
		silent: (client, silentMs) => {
			const log = limited.of('silent');
			if (silentMs === null) log.info(client, 'client sends heartbeats again');
			else log.warn({ ...client, silentMs: Math.round(silentMs) }, 'client stopped sending heartbeats');
		},
		oversize: (connection, name, { message, details }) => {
			const log = limited.of('oversize');
			log.warn({ connection, name, reason: message, ...details }, 'answer too long; client keeps the last one');
		},
		fault: (func, cause) => {
			const log = limited.of('fault');
			log.error({ func, err: cause }, 'handler failed');
		},
		readiness: (state) => readiness.changed(state),
		phase: (phase) => {
			hasServed ||= phase === 'serving';
			// A failed start is reported with its reason: nothing known has stopped.
			log[hasServed ? 'info' : 'debug']({ phase }, PHASES[phase] ?? phase);
		},
		overload: (signals) => {
			const log = limited.of('overload');
			if (signals.length === 0) log.info({}, 'overload is over; client limits rise again');
			else log.warn({ signals }, 'overloaded; limiting the busiest clients');
		},
		place: (outcome, reason) => {
			if (outcome === 'again') log.warn('socket was missing at its path; restored');
			else log.error({ reason }, 'socket is missing at its path; retrying');
		},
		placeLost: (err) => log.error({ err }, 'socket lost in a failed take-over; restart me'),
		goaway: ({ reason }, count) => log.info({ reason, count }, 'asking clients to leave'),
	};
}

/** Writes what becomes of a take-over. */
export function logTakeOver(log: Logger, { step, questions, error }: TakeOverEvent): void {
	const level = step === 'refused' ? 'error' : step === 'hung' || step === 'port late' ? 'warn' : 'info';
	log[level]({ step, questions, ...(error && { reason: error.message }) }, TAKE_OVERS[step]);
}

const TAKE_OVERS: Readonly<Record<TakeOverEvent['step'], string>> = {
	nobody: 'take-over: no sidecar to replace',
	begun: 'take-over: querying what the old sidecar knows',
	ending: 'take-over: the old sidecar was already stopping',
	hung: 'take-over: the old sidecar does not answer',
	refused: 'take-over: the old sidecar refuses; stop it',
	'port late': 'take-over: port is in use; retrying',
	'port bound': 'take-over: port is free and served',
	finished: 'take-over: done; the old sidecar leaves',
};

const PHASES: Readonly<Record<string, string>> = {
	serving: 'serving',
	'handing over': 'replaced; sending clients to the new sidecar',
	'handed over': 'replaced; waiting for clients to leave',
	grace: 'shutting down; serving for the grace time',
	'waiting for clients': 'shutting down; waiting for clients to leave',
	stopping: 'stopping',
	stopped: 'stopped',
};

/**
 * Writes which requests failed or took `slowRequestMs`, with the id of the trace that their caller said they belong to, so that
 * one can be found from the other. Others are not written at all.
 */
export function traceLog(log: LogLines, slowRequestMs: number): (request: TracedRequest) => void {
	return ({ connection, func, code, durationMs, traceId, traceparent }) => {
		const isSlow = durationMs >= slowRequestMs;
		if (code === 'ok' && !isSlow) return;
		const facts = { connection, func, code, durationMs: Math.round(durationMs), traceId, traceparent };
		log.warn(facts, code === 'ok' ? 'slow request' : code === 'cancelled' ? 'request cancelled' : 'request failed');
	};
}

/** Another reason for the same state is logged at most once in this time. */
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

	/** Readiness may have changed: logs a change at once, another reason rarely. */
	changed({ ready, reasons }: ReadyState): void {
		const log = this.#log;
		const reason = reasons.join('; ');
		const kind = `${ready} ${reason !== ''}`;
		const atMs = this.#clock.now();
		const told = this.#told;
		if (told?.kind === kind && (told.reason === reason || atMs - told.atMs < REASON_MS_MIN)) return;
		this.#told = { kind, reason, atMs };
		if (!ready) log.warn({ reason }, 'not ready');
		else if (reason !== '') log.warn({ reason }, 'ready, serving last known answers');
		else log.info('ready');
	}
}
