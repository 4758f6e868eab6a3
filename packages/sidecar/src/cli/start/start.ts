import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';

import { BackendSource, type DiscoveryEvent } from '@spock/discovery';
import type { EventsStatus } from '@spock/protocol';
import { messageOf, systemClock } from '@spock/protocol/internal';
import type { Logger } from 'pino';

import { ChangeLog } from '../../admin/change-log.ts';
import { EventsMetrics } from '../../admin/metrics/events-metrics.ts';
import { SidecarMetrics } from '../../admin/metrics/sidecar-metrics.ts';
import { StatusModel } from '../../admin/status-model.ts';
import { observeAll, type SidecarObserver } from '../../foundation/observer.ts';
import type { SidecarListen } from '../../listen/listener.ts';
import { createSidecar, type Sidecar } from '../../sidecar.ts';
import type { TakeOverEvent, TakeOverOptions } from '../../take-over/take-over.ts';
import { untilAbandoned } from '../../take-over/until-abandoned.ts';
import { UpstreamBackend } from '../../upstream/upstream-backend.ts';
import { connectionLog, logTakeOver } from '../log/connection-log.ts';
import { logDiscovery } from '../log/discovery-log.ts';
import { LimitedLog } from '../log/limited-log.ts';
import { createLogger } from '../log/logger.ts';
import { asUsage, EXIT } from '../output/output.ts';
import { unknownVariables } from '../settings/resolve-settings.ts';
import type { Settings } from '../settings/settings.ts';
import { accessFrom, listenAddresses, logRisks, socketPathOf } from './access.ts';
import { announce } from './announce.ts';
import { createBackend } from './create-backend.ts';
import { createRegistrations, defaultAnswersBytesMax, sourceOptionsOf } from './discovery-options.ts';
import { eventsOf } from './events.ts';
import { announceGrpc, grpcFrontOf } from './grpc-front.ts';
import { endWhenAsked } from './signals.ts';
import { adminAddressOf, startAdmin } from './start-admin.ts';
import { isPretty, startFailure } from './start-failure.ts';
import { limitsOf } from './start-limits.ts';

/** `sidecar start`, once its settings are known: runs until a signal. Gives the exit code. */
export async function start(settings: Settings, isTerminal: boolean): Promise<number> {
	const { log, dropped } = createLogger(
		settings.logLevel.value,
		isPretty(settings.logFormat.value, isTerminal) ? 'pretty' : 'json',
	);
	const limited = new LimitedLog(log);
	const metrics = new SidecarMetrics();
	return run(settings, { log, dropped, limited, metrics, isTerminal });
}

/** What `run` reports to, and whether a person reads it. */
interface Reporting {
	readonly log: Logger;
	/** Log lines dropped because they were not read in time, since the start. */
	readonly dropped: () => number;
	/** For what clients and outages can cause. */
	readonly limited: LimitedLog;
	readonly metrics: SidecarMetrics;
	readonly isTerminal: boolean;
}

async function run(settings: Settings, { log, dropped, limited, metrics, isTerminal }: Reporting): Promise<number> {
	for (const { variable, meant } of unknownVariables(process.env)) {
		log.warn({ variable, meant }, 'unknown environment variable ignored');
	}
	const changes = new ChangeLog(systemClock);
	const onEvent = (event: DiscoveryEvent): void => {
		logDiscovery(limited, event);
		metrics.discovered(event);
		changes.discovered(event);
		// What this sidecar takes out itself is no loss of the registry's; whatever else is missing with it may be.
		if (event.type === 'registration' && event.phase === 'leaving' && event.instance !== null) {
			source.expectGone(event.service, event.instance);
		}
	};
	const instance = randomUUID();
	const backend = await asUsage(() => createBackend(settings, onEvent, instance));
	const source: BackendSource = await asUsage(
		() =>
			new BackendSource({
				backend,
				onEvent,
				answersBytesMax: defaultAnswersBytesMax(),
				...sourceOptionsOf(settings, backend.name),
			}),
	);
	const eventsMetrics = settings.events.value === undefined ? undefined : new EventsMetrics();
	let admin: { close(): Promise<void> } | undefined;
	let isReplaced = false;
	const sidecar: Sidecar = await asUsage(async () => {
		const access = accessFrom(settings, onEvent);
		logRisks(log, access.warnings);
		const listen = listenAddresses(settings, access);
		const front = await grpcFrontOf(settings, access, log);
		const events = await eventsOf(settings, {
			log,
			limited,
			observers: eventsMetrics === undefined ? [] : [eventsMetrics.observer],
			socket: listen.flatMap(({ address }) => ('path' in address ? [address.path] : []))[0],
		});
		// A wrong one must not be found out when the sidecar serves already.
		adminAddressOf(settings);
		const [first] = listen as [SidecarListen, ...SidecarListen[]];
		const registrations = createRegistrations(settings, backend, first.address, onEvent);
		const takeOver = takeOverOptionsOf(settings, first, log, metrics);
		return createSidecar({
			instance,
			source,
			...(backend instanceof UpstreamBackend && { upstreams: backend }),
			...(takeOver && { takeOver }),
			...(registrations && { registrations }),
			listen,
			...(front && { front }),
			...(events && { events }),
			limits: limitsOf(settings, isTerminal, log),
			...(settings.zone.value !== undefined && { zone: settings.zone.value }),
			zonePolicy: settings.zonePolicy.value,
			observer: observeAll<SidecarObserver>([
				connectionLog(log, limited, settings.slowRequestMs.value),
				metrics.observer,
				{
					phase: (phase) => {
						if (phase !== 'handing over') return;
						isReplaced = true;
						// The successor needs the port, unless it is in another pod: then the kubelet asks this one until its end.
						if (!settings.stayWhenReplaced.value) void admin?.close();
					},
				},
			]),
		});
	});
	const model: StatusModel = new StatusModel({
		sidecar,
		known: (query) => source.known(query),
		durations: () => metrics.durations(),
		host: hostname(),
		changes,
		clock: systemClock,
	});
	metrics.observe({
		gauges: () => sidecar.gauges(),
		limits: sidecar.limits,
		watches: () => source.watches(),
		keyWatches: () => source.keyWatches(),
		backend: () => source.status(),
		servicesMax: settings.metricsServicesMax.value,
		isReady: () => sidecar.readiness().ready,
		logLinesDropped: () => ({ unread: dropped(), limited: limited.leftOut }),
	});
	eventsMetrics?.register(metrics.registry, () => sidecar.events() as EventsStatus);
	// Before anything is bound: a signal that comes while it starts must not be lost, least of all for process 1.
	const { asked, stopListening } = endWhenAsked(sidecar, log, isTerminal);
	try {
		// After the sockets in a take-over: the sidecar in place has the port until it leaves.
		const isAdminLast = settings.takeOver.value;
		if (!isAdminLast) admin = await startAdmin(settings, { sidecar, metrics, model }, log);
		const addresses = await sidecar.start();
		if (isAdminLast) admin = await startAdmin(settings, { sidecar, metrics, model }, log);
		// A signal may have come while it was binding: then there is nothing to announce.
		if (sidecar.status().phase === 'serving') {
			announce(log, addresses, settings, backend);
			announceGrpc(log, sidecar.frontAddresses);
		}
		const exitCode = await sidecar.ended;
		const isStaying = isReplaced && settings.stayWhenReplaced.value && !asked.aborted;
		return isStaying ? await stayReplaced(settings, log, asked) : exitCode;
	} catch (error) {
		await endAtOnce(sidecar);
		await source.close();
		throw startFailure(error);
	} finally {
		await admin?.close();
		metrics.close();
		limited.close();
		stopListening();
	}
}

/** Of a sidecar that was replaced, for a supervisor that starts again what has exited. Gives the exit code. */
async function stayReplaced(settings: Settings, log: Logger, asked: AbortSignal): Promise<number> {
	const path = socketPathOf(settings);
	log.info('replaced; waiting for a signal to exit');
	const failed = (error: unknown): void => {
		log.warn({ reason: messageOf(error) }, 'cannot look for the successor; retrying');
	};
	if (path !== undefined) await untilAbandoned({ path, clock: systemClock, signal: asked, failed });
	if (asked.aborted) return EXIT.ok;
	log.warn('successor is gone; exiting to be restarted');
	return EXIT.failure;
}

/** Releases whatever it has bound, so that the process can end, without waiting for clients. */
async function endAtOnce(sidecar: Sidecar): Promise<void> {
	sidecar.terminate();
	sidecar.terminate();
	await sidecar.ended;
}

/** How to replace the sidecar at this address; undefined where that is not asked for. Throws an Error where it cannot be. */
function takeOverOptionsOf(
	settings: Settings,
	{ address }: SidecarListen,
	log: Logger,
	metrics: SidecarMetrics,
): TakeOverOptions | undefined {
	if (!settings.takeOver.value) return undefined;
	if (!('path' in address)) throw new Error('no socket path to take over: --take-over needs --socket');
	const told = (event: TakeOverEvent): void => {
		logTakeOver(log, event);
		metrics.tookOver(event);
	};
	return { warmUpMs: settings.takeOverWarmUpMs.value, told };
}
