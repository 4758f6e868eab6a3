import { resolve } from 'node:path';

import type { EventServiceLimits, EventsObserver } from '@spock/events';
import type { Logger } from 'pino';
import type { EventGuestOptions } from '../../events/event-guest.ts';
import { observeAll } from '../../foundation/observer.ts';
import type { EventsOptions } from '../../lifecycle/sidecar-options.ts';
import { eventsLog } from '../log/events-log.ts';
import type { LimitedLog } from '../log/limited-log.ts';
import { givenSettings, namedAsGiven, type Settings } from '../settings/settings.ts';
import { tryItCommand, tryItSettings } from './announce.ts';
import { storesElsewhere } from './event-stores/event-stores.ts';

/** Settings that mean nothing without `--events`. */
const NEED_EVENTS = [
	'eventsBytesMax',
	'eventsFreeBytesMin',
	'eventsRetentionMs',
	'eventsRetentionBytes',
	'eventsStreams',
	'eventsStore',
	'eventsStoreStreams',
	'eventsStoreOf',
	'eventsHttpUrl',
	'eventsHttpService',
	'eventsHttpTokenFile',
	'eventsNatsService',
	'eventsNatsServers',
	'eventsNatsTokenFile',
	'eventsNatsReplicas',
	'eventsRelayService',
	'eventsRelayAddress',
	'eventsRelayTokenFile',
	'eventsRelayCa',
	'eventsRelayCert',
	'eventsRelayKey',
	'eventsRelayCompression',
	'eventsDrainMs',
] as const;
/** By the option of the service that each is for. */
const LIMITS = {
	bytesMax: 'eventsBytesMax',
	freeBytesMin: 'eventsFreeBytesMin',
	retentionMs: 'eventsRetentionMs',
	retentionBytes: 'eventsRetentionBytes',
	streams: 'eventsStreams',
} as const;

/** Where it reports to. */
export interface EventsReporting {
	readonly log: Logger;
	readonly limited: LimitedLog;
	/** For metrics. */
	readonly observers: readonly EventsObserver[];
	/** The path at which the sidecar listens, if there is one, for a command that is shown. */
	readonly socket: string | undefined;
}

/** The events that are asked for; undefined if none are, and then nothing of them is loaded. Throws an Error that names a wrong setting. */
export async function eventsOf(settings: Settings, reporting: EventsReporting): Promise<EventsOptions | undefined> {
	if (settings.events.value === undefined) {
		const [idle] = NEED_EVENTS.filter((name) => settings[name].origin !== 'default');
		if (idle !== undefined) throw new Error(`${settings[idle].where} needs --events DIRECTORY`);
		return undefined;
	}
	const directory = resolve(settings.events.value);
	const [{ EventGuest }, { EventService: Service, NodeFiles, NodeOwner }] = await Promise.all([
		import('../../events/event-guest.ts'),
		import('@spock/events'),
	]);
	const { socket } = reporting;
	const command = socket === undefined ? undefined : publishCommand(settings, socket);
	const said = { directory, ...(command !== undefined && { command }) };
	const { openFailed, endFailed, opened, storeUnusable, ...log } = eventsLog(reporting.log, reporting.limited, said);
	const observer = observeAll<EventsObserver>([log, ...reporting.observers]);
	const limits = limitsOf(settings);
	const elsewhere = await storesElsewhere(settings, storeUnusable);
	return {
		create: (context) => {
			const { clock, random } = context;
			const files = new NodeFiles();
			const stores = elsewhere?.(context);
			const serve: EventGuestOptions['serve'] = (lost) => {
				const owner = new NodeOwner(directory);
				const store = stores && { stores: stores.forwarding };
				return new Service({ directory, files, owner, clock, random, limits, observer, lost, ...store });
			};
			const drainMs = settings.eventsDrainMs.value;
			return namedAsGiven(
				settings,
				LIMITS,
				() =>
					new EventGuest(context, {
						...{ serve, directory, drainMs, opened, openFailed, endFailed },
						closed: stores?.close,
					}),
			);
		},
	};
}

function limitsOf(settings: Settings): EventServiceLimits {
	const { freeBytesMin, retentionBytes, streams } = givenSettings(settings, LIMITS);
	return {
		bytesMax: settings.eventsBytesMax.value,
		retentionMs: settings.eventsRetentionMs.value,
		...(freeBytesMin !== undefined && { freeBytesMin }),
		...(retentionBytes !== undefined && { retentionBytes }),
		...(streams !== undefined && { streams: new Set(streams), streamsSetting: settings.eventsStreams.where }),
	};
}

/** A command that publishes an event, to be pasted into a shell; undefined where none works without knowing more. */
function publishCommand(settings: Settings, socket: string): string | undefined {
	const [stream = 'orders'] = settings.eventsStreams.value ?? [];
	// A payload without quotes, which the log line would write in another way.
	return tryItCommand(['events', 'publish', stream, '42'], tryItSettings(settings, [socket]));
}
