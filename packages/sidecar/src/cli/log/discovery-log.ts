import type { DiscoveryEvent } from '@spock/discovery';

import type { LimitedLog } from './limited-log.ts';

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

const HOLD_ENDS: Readonly<Record<'returned' | 'emptied' | 'failed' | 'dropped', string>> = {
	returned: 'the instances of a service are back',
	emptied: 'the instances of a service are gone for good',
	failed: 'the registry fails; the last known answer is served',
	dropped: 'nobody asks any more for a service that was held',
};
