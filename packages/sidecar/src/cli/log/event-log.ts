import type { DiscoveryEvent } from '@spock/discovery';
import { systemClock } from '@spock/protocol/internal';
import type { Logger } from 'pino';

import type { SidecarObserver, TracedRequest } from '../../foundation/observer.ts';
import type { TakeOverEvent } from '../../take-over/take-over.ts';
import { DEFAULT_SLOW_REQUEST_MS } from '../settings/log-settings.ts';
import type { LimitedLog, LogLines } from './limited-log.ts';
import { ReadinessLog } from './readiness-log.ts';

/** Bad instances that one line tells of. */
const LOGGED_MAX = 8;

/** Writes what discovery tells: outages and their ends loudly, changes for whoever wants to see them. */
export function logDiscovery(limited: LimitedLog, event: DiscoveryEvent): void {
	const log = limited.of(event.type);
	switch (event.type) {
		case 'published': {
			const { service, revision, instances, source } = event.snapshot;
			log.debug({ service, revision, source, instances: instances.length, ...event.diff }, 'snapshot published');
			return;
		}
		case 'key-published': {
			const { type, ...facts } = event;
			log.debug(facts, 'keys published');
			return;
		}
		case 'watch-failed': {
			const { code, message } = event.error;
			const facts = { query: event.query, code, reason: message };
			if (event.isServed) log.warn(facts, 'a watch fails; the last known answer is served');
			else log.warn(facts, 'a watch fails, and there is no answer to serve yet');
			return;
		}
		case 'watch-recovered':
			log.info({ query: event.query, outageMs: Math.round(event.outageMs) }, 'a watch is well again');
			return;
		case 'held':
			log.warn(
				{ query: event.query, count: event.count, holdMs: event.holdMs },
				'the registry says that nothing is left: the last answer is served until it has said so for long enough',
			);
			return;
		case 'hold-ended': {
			const { query, outcome, heldMs } = event;
			log.warn({ query, outcome, heldMs: Math.round(heldMs) }, HOLD_ENDS[outcome]);
			return;
		}
		case 'instances-refused': {
			const { query, count, instances } = event;
			if (count === 0) log.info({ query }, 'every instance of a service can be used again');
			else log.warn({ query, count, instances: instances.slice(0, LOGGED_MAX) }, 'bad instances are left out');
			return;
		}
		case 'panic': {
			const { query, healthy, instances } = event;
			const message = event.active
				? 'too few instances are healthy: all are served'
				: 'enough instances are healthy again';
			log.warn({ query, healthy, instances }, message);
			return;
		}
		case 'state-restored':
			log.warn(
				{ what: event.what, ageMs: Math.round(event.ageMs) },
				'the registry does not answer: what an earlier sidecar kept is served',
			);
			return;
		case 'state-refused':
			log.warn(
				{ file: event.file, refusal: event.refusal, reason: event.reason },
				`a file of the state directory is not used: ${event.reason}`,
			);
			return;
		case 'state-write':
			if (event.outcome === 'failed' && event.isNews) {
				log.error({ reason: event.error.message }, 'the state directory cannot be written; it is tried again');
			}
			return;
		case 'registration': {
			const { id, service, phase, state, reason } = event;
			const level =
				reason !== undefined || phase === 'grace' ? 'warn' : phase === 'held' && state === 'pending' ? 'debug' : 'info';
			log[level](
				{ id, service, phase, state, ...(reason && { reason }) },
				`registration of ${service}: ${phase}, ${state}`,
			);
			return;
		}
		case 'registrations-unknown':
			log[event.isNews ? 'warn' : 'debug'](
				{ reason: event.error.message },
				'registrations of an earlier sidecar cannot be looked for yet; it is tried again',
			);
			return;
		case 'list-denied':
			log.warn({ reason: event.error.message }, 'no service may be listed; what may be read is answered');
			return;
		case 'services-file-loaded':
			log.info({ file: event.file, services: event.services }, 'services file loaded');
			return;
		case 'services-file-refused':
			log.error(
				{ file: event.file, reason: event.error.message },
				`the services file is bad, and what it said before is still served: ${event.error.message}`,
			);
			return;
		case 'credentials-loaded':
			log.info({ files: event.files }, `${event.what} loaded`);
			return;
		case 'credentials-refused':
			log.error(
				{ files: event.files, reason: event.error.message },
				`${event.what} is missing or bad, and what was good before stays in force: ${event.error.message}`,
			);
			return;
		case 'logged-in':
			log.info({ method: event.method, ttlMs: event.ttlMs }, `logged in at Consul with ${event.method}`);
			return;
		case 'login-failed': {
			const { code, message } = event.error;
			log.error({ method: event.method, code, reason: message }, 'the login at Consul has failed');
			return;
		}
		case 'watch-mode':
			log.info(
				{ watches: event.watches, mode: event.mode, sharing: event.sharing },
				event.mode === 'shared'
					? 'many services: some of them share one watch'
					: 'few services: a watch for each of them',
			);
			return;
		case 'backend-query':
			log.trace({ outcome: event.outcome, durationMs: event.durationMs }, 'backend query');
			return;
	}
}

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

const HOLD_ENDS: Readonly<Record<'returned' | 'emptied' | 'failed' | 'dropped', string>> = {
	returned: 'the instances of a service are back',
	emptied: 'the instances of a service are gone for good',
	failed: 'the registry fails; the last known answer is served',
	dropped: 'nobody asks any more for a service that was held',
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
