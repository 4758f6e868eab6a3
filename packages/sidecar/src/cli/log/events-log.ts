import type { EventsObserver } from '@spock/events';
import type { SpockError } from '@spock/protocol';
import type { Logger } from 'pino';

import type { LimitedLog } from './limited-log.ts';

/** What becomes of the log of events as a whole, for the log of the sidecar. */
export interface EventsEndLog {
	/** It is open: the first time, and each time after it was lost. */
	opened(): void;
	/** An attempt to open it has failed; the next one follows. */
	openFailed(error: SpockError, retryMs: number): void;
	/** It could not be handed over or closed as it should be. */
	endFailed(error: unknown): void;
	/** At the start: a kind of store lacks what it needs. */
	storeUnusable(store: string, error: Error): void;
}

/** Writes what happens to the log of events. `said`: what is said of it when it is open. */
export function eventsLog(log: Logger, limited: LimitedLog, said: object): EventsObserver & EventsEndLog {
	return {
		opened: () => {
			const log = limited.of('events open');
			log.info({ ...said }, 'taking events');
		},
		openFailed: ({ message }, retryMs) => {
			const log = limited.of('events open');
			log.error({ reason: message, retryMs }, 'event log cannot be opened; retrying');
		},
		storeUnusable: (store, { message }) => log.error({ store, reason: message }, 'event store cannot be used yet'),
		endFailed: (err) => log.error({ err }, 'event log did not end cleanly'),
		logState: (state, reason) => log.debug({ state, reason }, 'event log changed its state'),
		failed: ({ message }) => {
			const log = limited.of('events failed');
			log.error({ reason: message }, 'event log cannot be written; retrying');
		},
		blocked: (reason) => {
			const log = limited.of('events blocked');
			if (reason === null) log.info({}, 'events are taken again');
			else log.warn({ reason }, 'no events are taken; producers wait');
		},
		damaged: ({ file, from, to }) => {
			const log = limited.of('events damaged');
			log.error({ file, from, to }, 'event log is damaged; the rest is kept');
		},
		logLost: (producer, known, told) => {
			const log = limited.of('events lost');
			log.error({ producer, known, told }, 'event log lost events it had acknowledged');
		},
		refused: (stream, { code, message }) => {
			const log = limited.of('events refused');
			log.warn({ stream, code, reason: message }, 'event refused');
		},
		dead: (stream, group, reason) => {
			const log = limited.of('events dead');
			log.warn({ stream, group, reason }, 'event moved to the dead stream');
		},
		storeFailed: (stream, { message }) => {
			const log = limited.of('events store');
			log.error({ stream, reason: message }, 'event store failed; retrying');
		},
		storeUnreadable: (stream, { message }) => {
			const log = limited.of('events store');
			log.error({ stream, reason: message }, 'event store cannot be read; retrying');
		},
		storeWorks: (stream, failedMs) => {
			const log = limited.of('events store');
			log.info({ stream, failedMs: Math.round(failedMs) }, 'event store works again');
		},
		storeWentBack: (stream, from, to) => {
			const log = limited.of('events store back');
			log.error({ stream, from, to }, 'event store lost events; sending them again');
		},
		parked: (stream, { code, message }) => {
			const log = limited.of('events parked');
			log.warn({ stream, code, reason: message }, 'event store refused an event; kept aside');
		},
		forwarding: (stream, state) => log.debug({ stream, state }, 'event forwarding changed its state'),
		unstoredAtExit: (stream, events) => log.warn({ stream, events }, 'event log closed before its store had all'),
		leftAtExit: (records) => {
			if (records === 0) log.debug({}, 'event log closed');
			else log.warn({ records }, 'event log closed before all was written');
		},
	};
}
