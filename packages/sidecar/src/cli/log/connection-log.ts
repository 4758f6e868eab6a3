import { type Clock, systemClock } from '@spock/protocol/internal';
import type { Logger } from 'pino';

import type { ReadyState, SidecarObserver, TracedRequest } from '../../foundation/observer.ts';
import type { TakeOverEvent } from '../../take-over/take-over.ts';
import { DEFAULT_SLOW_REQUEST_MS } from '../settings/reporting-settings.ts';
import type { LimitedLog, LogLines } from './limited-log.ts';

/** Writes what happens to connections and to the process, and which traced requests failed or took `slowRequestMs`. */
export function connectionLog(log: Logger, limited: LimitedLog, slowRequestMs?: number): SidecarObserver {
	let hasServed = false;
	const readiness = new ReadinessLog(log, systemClock);
	return {
		traced: traceLog(limited.of('request'), slowRequestMs),
		connectionOpened: (connection) => log.debug({ connection }, 'a client has connected'),
		greeted: (client) => log.debug(client, 'a client has said hello'),
		notLeft: (clients, count, how) => {
			if (how === 'waited for') log.info({ clients, count }, 'clients have not left yet');
			else log.warn({ clients, count }, 'clients have not left, and are cut off');
		},
		connectionClosed: (_, reason, bytesRead, bytesWritten, client) => {
			const log = limited.of('connection');
			const level = reason === 'client' || reason === 'shutdown' ? 'debug' : 'warn';
			log[level]({ ...client, reason, bytesRead, bytesWritten }, 'a connection has ended');
		},
		silent: (client, silentMs) => {
			const log = limited.of('silent');
			if (silentMs === null) log.info(client, 'a silent client is heard again');
			else log.warn({ ...client, silentMs: Math.round(silentMs) }, 'a client has gone silent');
		},
		oversize: (connection, name, { message, details }) => {
			const log = limited.of('oversize');
			log.warn(
				{ connection, name, ...details },
				`${name} is too long for a client, which keeps what it was told before: ${message}`,
			);
		},
		fault: (func, cause) => {
			const log = limited.of('fault');
			log.error({ func, err: cause }, 'a handler failed');
		},
		readiness: (state) => readiness.changed(state),
		phase: (phase) => {
			hasServed ||= phase === 'serving';
			// A start that fails is told by its reason: nothing that anybody knew of has stopped.
			log[hasServed ? 'info' : 'debug']({ phase }, PHASES[phase] ?? phase);
		},
		overload: (signals) => {
			const log = limited.of('overload');
			if (signals.length === 0) log.info({}, 'the overload is over: clients may have more in flight again');
			else log.warn({ signals }, `overloaded (${signals.join(', ')}): the greediest clients are asked for less`);
		},
		place: (outcome, reason) => {
			if (outcome === 'again') log.warn('the socket was gone from its path, and stands there again');
			else log.error({ reason }, 'the socket is gone from its path; it is put back as soon as that can be');
		},
		placeLost: (err) =>
			log.error({ err }, 'a sidecar that was taking over has died, and the socket could not be put back: restart me'),
		goaway: ({ reason }) => log.info({ reason }, 'clients are asked to leave'),
	};
}

/** Writes what becomes of a take-over. */
export function logTakeOver(log: Logger, { step, questions, error }: TakeOverEvent): void {
	const level = step === 'refused' ? 'error' : step === 'hung' || step === 'port late' ? 'warn' : 'info';
	log[level]({ step, questions, ...(error && { reason: error.message }) }, TAKE_OVERS[step]);
}

const TAKE_OVERS: Readonly<Record<TakeOverEvent['step'], string>> = {
	nobody: 'take-over: there was no sidecar to replace',
	begun: 'take-over: asking the registry what the sidecar in place knows',
	ending: 'take-over: the sidecar in place was ending already',
	hung: 'take-over: the sidecar in place does not answer; its clients come when they notice that it hangs',
	refused: 'take-over: the place is taken, but the sidecar that had it says that it does not leave: stop it',
	'port late': 'take-over: a port stays taken; this sidecar serves without it, and goes on trying',
	'port bound': 'take-over: the port that was taken is free at last, and served',
	finished: 'take-over: the sidecar in place sends its clients here, and leaves',
};

const PHASES: Readonly<Record<string, string>> = {
	serving: 'serving',
	'handing over': 'another sidecar has taken this place: the clients are sent there',
	'handed over': 'another sidecar has taken this place: waiting for the clients to leave',
	grace: 'shutting down: still serving for the grace time',
	'waiting for clients': 'shutting down: waiting for the clients to leave; a second signal ends at once',
	stopping: 'stopping',
	stopped: 'stopped',
};

/**
 * Writes which requests failed or took `slowRequestMs`, with the id of the trace that their caller said they belong to, so that
 * one can be found from the other. Others are not written at all.
 */
export function traceLog(
	log: LogLines,
	slowRequestMs: number = DEFAULT_SLOW_REQUEST_MS,
): (request: TracedRequest) => void {
	return ({ connection, func, code, durationMs, traceId, traceparent }) => {
		const isSlow = durationMs >= slowRequestMs;
		if (code === 'ok' && !isSlow) return;
		const facts = { connection, func, code, durationMs: Math.round(durationMs), traceId, traceparent };
		const what = code === 'ok' ? 'was slow' : code === 'cancelled' ? 'was given up by its caller' : `failed: ${code}`;
		log.warn(facts, `a request ${what}`);
	};
}

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

/** The log and the metrics as one observer; each is told what is for it. `phased` is told each phase too. */
export function observeBoth(
	log: SidecarObserver,
	metrics: SidecarObserver,
	phased: (phase: string) => void,
): SidecarObserver {
	return {
		answered: (...told) => metrics.answered?.(...told),
		grpcAnswered: (...told) => metrics.grpcAnswered?.(...told),
		connectionOpened: (...told) => {
			log.connectionOpened?.(...told);
			metrics.connectionOpened?.(...told);
		},
		connectionClosed: (...told) => {
			log.connectionClosed?.(...told);
			metrics.connectionClosed?.(...told);
		},
		connectionRefused: () => metrics.connectionRefused?.(),
		pushed: (kind) => metrics.pushed?.(kind),
		traced: (request) => log.traced?.(request),
		greeted: (client) => log.greeted?.(client),
		notLeft: (...told) => log.notLeft?.(...told),
		silent: (...told) => log.silent?.(...told),
		oversize: (...told) => log.oversize?.(...told),
		goaway: (data) => {
			log.goaway?.(data);
			metrics.goaway?.(data);
		},
		limited: (limit) => metrics.limited?.(limit),
		overload: (signals) => {
			log.overload?.(signals);
			metrics.overload?.(signals);
		},
		acceptFailed: (error) => metrics.acceptFailed?.(error),
		tlsFailed: (reason) => metrics.tlsFailed?.(reason),
		windowTold: (direction) => metrics.windowTold?.(direction),
		fault: (...told) => {
			log.fault?.(...told);
			metrics.fault?.(...told);
		},
		phase: (phase) => {
			log.phase?.(phase);
			metrics.phase?.(phase);
			phased(phase);
		},
		place: (...told) => log.place?.(...told),
		readiness: (state) => log.readiness?.(state),
		placeLost: (error) => {
			log.placeLost?.(error);
			metrics.placeLost?.(error);
		},
	};
}
