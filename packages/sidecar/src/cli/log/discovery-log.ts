import type { DiscoveryEvent } from '@spock/discovery';
import type { SpockError } from '@spock/protocol';
import { messageOf } from '@spock/protocol/internal';

import type { LimitedLog } from './limited-log.ts';

/** Invalid instances that one line lists. */
const LOGGED_MAX = 8;

/** Writes what discovery reports: outages and their ends as warnings, changes at `debug`. */
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
			const facts = { query: event.query, code: event.error.code, reason: reasonOf(event.error) };
			if (event.isServed) log.warn(facts, 'watch failed; serving the last known answer');
			else log.warn(facts, 'watch failed; no answer to serve yet');
			return;
		}
		case 'watch-recovered':
			log.info({ query: event.query, outageMs: Math.round(event.outageMs) }, 'watch recovered');
			return;
		case 'address-failed':
			log.warn({ address: event.address, reason: event.reason }, 'address of the registry fails');
			return;
		case 'address-recovered': {
			const { address, outageMs } = event;
			log.info({ address, outageMs: Math.round(outageMs) }, 'address of the registry answers again');
			return;
		}
		case 'held':
			log.warn(
				{ query: event.query, count: event.count, holdMs: event.holdMs },
				'no valid entry left; serving last known answer',
			);
			return;
		case 'hold-ended': {
			const { query, outcome, heldMs } = event;
			log.warn({ query, outcome, heldMs: Math.round(heldMs) }, HOLD_ENDS[outcome]);
			return;
		}
		case 'instances-refused': {
			const { query, count, instances } = event;
			if (count === 0) log.info({ query }, 'all instances are valid again');
			else log.warn({ query, count, instances: instances.slice(0, LOGGED_MAX) }, 'invalid instances left out');
			return;
		}
		case 'panic': {
			const { query, healthy, instances } = event;
			const message = event.active ? 'too few healthy instances; serving all' : 'enough instances are healthy again';
			log.warn({ query, healthy, instances }, message);
			return;
		}
		case 'state-restored':
			log.warn(
				{ what: event.what, ageMs: Math.round(event.ageMs) },
				'registry does not answer; serving the saved state',
			);
			return;
		case 'state-refused':
			log.warn({ file: event.file, refusal: event.refusal, reason: event.reason }, 'state file ignored');
			return;
		case 'state-write':
			if (event.outcome === 'failed' && event.isNews) {
				log.error({ reason: event.error.message }, 'cannot write the state directory; retrying');
			}
			return;
		case 'registration': {
			const { id, service, phase, state, error } = event;
			// The end of such a step is logged at info, and its failure as a warning.
			const isOnTheWay = phase === 'leaving' || (phase === 'held' && state === 'pending');
			const level = error !== undefined || phase === 'grace' ? 'warn' : isOnTheWay ? 'debug' : 'info';
			log[level]({ id, service, phase, state, ...(error && { reason: reasonOf(error) }) }, 'registration changed');
			return;
		}
		case 'registration-moved': {
			const { id, service, from, to } = event;
			log.warn({ id, service, from, to }, 'registration moved to another node');
			return;
		}
		case 'registrations-unknown':
			log[event.isNews ? 'warn' : 'debug'](
				{ reason: reasonOf(event.error) },
				'cannot look up earlier registrations; retrying',
			);
			return;
		case 'list-denied':
			log.warn({ reason: event.error.message }, 'listing services is denied; serving readable ones');
			return;
		case 'services-file-loaded':
			log.info({ file: event.file, services: event.services }, 'services file loaded');
			return;
		case 'services-file-refused':
			log.error(
				{ file: event.file, reason: event.error.message },
				'services file is invalid; serving its last version',
			);
			return;
		case 'credentials-loaded':
			log.info({ what: event.what, files: event.files }, 'credentials loaded');
			return;
		case 'credentials-refused':
			log.error(
				{ what: event.what, files: event.files, reason: event.error.message },
				'credentials are unusable; keeping the last good ones',
			);
			return;
		case 'logged-in':
			log.info({ method: event.method, ttlMs: event.ttlMs }, 'logged in to Consul');
			return;
		case 'login-failed': {
			const { code, message } = event.error;
			log.error({ method: event.method, code, reason: message }, 'Consul login failed; retrying');
			return;
		}
		case 'watch-mode':
			log.info(
				{ watches: event.watches, mode: event.mode, polled: event.polled },
				event.mode === 'polled' ? 'too many services; some are polled' : 'each service has its own watch again',
			);
			return;
		case 'backend-query':
			log.trace({ outcome: event.outcome, durationMs: event.durationMs }, 'backend query');
			return;
	}
}

/** Why. The message of an internal fault, such as one of a third party's backend, says nothing without its cause. */
function reasonOf({ code, message, cause }: SpockError): string {
	return code === 'INTERNAL' && cause !== undefined ? `${message}: ${messageOf(cause)}` : message;
}

const HOLD_ENDS: Readonly<Record<'returned' | 'emptied' | 'failed' | 'dropped', string>> = {
	returned: 'hold ended: the registry has valid entries again',
	emptied: 'hold ended: the empty answer is confirmed',
	failed: 'hold ended: watch failed; serving last known answer',
	dropped: 'hold ended: no client reads it anymore',
};
