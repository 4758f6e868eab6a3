import type { DiscoveryEvent } from '@spock/discovery';
import type { Logger } from 'pino';

import type { SidecarObserver } from '../sidecar-observer.ts';

/** Writes what discovery tells: outages and their ends loudly, changes for whoever wants to see them. */
export function logDiscovery(log: Logger, event: DiscoveryEvent): void {
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
			log.warn({ query: event.query, code, reason: message }, 'a watch fails; the last known answer is served');
			return;
		}
		case 'watch-recovered':
			log.info({ query: event.query, outageMs: Math.round(event.outageMs) }, 'a watch is well again');
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
		case 'backend-query':
			log.trace({ outcome: event.outcome, durationMs: event.durationMs }, 'backend query');
			return;
	}
}

/** Writes what happens to connections and to the process. */
export function connectionLog(log: Logger): SidecarObserver {
	return {
		connectionOpened: (connection) => log.debug({ connection }, 'a client has connected'),
		connectionClosed: (connection, reason, bytesRead, bytesWritten) => {
			const level = reason === 'client' || reason === 'shutdown' ? 'debug' : 'warn';
			log[level]({ connection, reason, bytesRead, bytesWritten }, 'a connection has ended');
		},
		fault: (func, cause) => log.error({ func, err: cause }, 'a handler failed'),
		phase: (phase) => log.info({ phase }, PHASES[phase] ?? phase),
		goaway: ({ reason }) => log.info({ reason }, 'clients are asked to leave'),
	};
}

const PHASES: Readonly<Record<string, string>> = {
	serving: 'serving',
	grace: 'shutting down: still serving for the grace time',
	'waiting for clients': 'shutting down: waiting for the clients to leave; a second signal ends at once',
	stopping: 'stopping',
	stopped: 'stopped',
};
