import {
	type EventsStatus,
	type Inspection,
	keyQueryKey,
	normaliseQuery,
	type ServiceQuery,
	type StatusReply,
	type WatcherStatus,
} from '@spock/protocol';
import type { Clock } from '@spock/protocol/internal';

import type { ClientFacts, WatchedFacts } from '../connection/connection-facts.ts';
import { type CommonFailure, commonFailureOf, ownError } from '../foundation/common-failure.ts';
import { explained } from '../handlers/explain.ts';
import type { SidecarGauges } from '../lifecycle/sidecar-status.ts';
import type { ChangeLog } from './change-log.ts';
import { ConnectionRows, ratesBetween } from './connection-rows.ts';
import type { Durations } from './metrics/request-metrics.ts';
import { type ServiceRow, ServiceRows } from './status-rows.ts';
import type {
	ChangeView,
	ClientDetail,
	ConnectionsView,
	KeyView,
	LatencyView,
	OverviewView,
	Rates,
	RegistrationView,
	ServiceDetail,
	StatusView,
} from './status-view.ts';

/** How often samples are taken at most, while the page is open. */
export const SAMPLE_MS = 1000;
/** Instances of one service, and subscriptions of one client, that are shown. */
const DETAILS_MAX = 1000;
/** Registrations and keys that are shown. */
const LIST_MAX = 200;

/** What is looked at of a sidecar. */
export interface ShownSidecar {
	status(): StatusReply;
	gauges(): SidecarGauges;
	connections(): readonly ClientFacts[];
	watched(connection: number): WatchedFacts | undefined;
	watchers(query: ServiceQuery): readonly WatcherStatus[];
}

/** What a {@link StatusModel} shows. */
export interface StatusModelOptions {
	readonly sidecar: ShownSidecar;
	/** What is known of a service that is watched; to look must not start or keep a watch. */
	readonly known: (query: ServiceQuery) => Inspection | undefined;
	readonly durations: () => Durations;
	/** Name of the machine. */
	readonly host: string;
	readonly changes: Pick<ChangeLog, 'changes'>;
	readonly clock: Pick<Clock, 'now' | 'wallNow'>;
}

/** One sample: the parts of a {@link StatusView}, each made once however many look. */
export interface StatusSample {
	readonly overview: OverviewView;
	/** By key, in the order of names. */
	readonly services: ReadonlyMap<string, ServiceRow>;
	readonly connections: ConnectionsView;
	/** Null where they are off. */
	readonly events: EventsStatus | null;
	readonly registrations: readonly RegistrationView[];
	readonly keys: readonly KeyView[];
	readonly changes: readonly ChangeView[];
}

/**
 * What the sidecar shows of itself. Nothing is done before somebody looks, and at most one sample is taken in a second,
 * however many look: what they ask for costs the clients of the sidecar little.
 */
export class StatusModel {
	readonly #options: StatusModelOptions;
	readonly #services: ServiceRows;
	readonly #connections = new ConnectionRows();
	readonly #latency = new LatencyWindow();
	#startedAt: number | undefined;
	#failure: CommonFailure | null = null;
	#total: ({ readonly atMs: number } & Rates) | undefined;
	/** The log of events at the last sample. */
	#log: { readonly atMs: number; readonly next: number } | undefined;
	#last: { readonly sample: StatusSample; readonly atMs: number } | undefined;

	constructor(options: StatusModelOptions) {
		this.#options = options;
		this.#services = new ServiceRows(options.known);
	}

	/** The last sample, or a new one if that is a second old. */
	current(): StatusSample {
		const nowMs = this.#options.clock.now();
		// A timer may be a little early.
		if (this.#last === undefined || nowMs - this.#last.atMs >= SAMPLE_MS * 0.9) {
			this.#last = { sample: this.#sample(nowMs), atMs: nowMs };
		}
		return this.#last.sample;
	}

	/** One service, its instances and who watches; undefined if it is not watched. */
	detail(key: string): ServiceDetail | undefined {
		const { known, sidecar } = this.#options;
		const row = this.current().services.get(key);
		if (row === undefined) return undefined;
		const query = normaliseQuery(row.view);
		const inspection = known(query);
		if (inspection === undefined) return undefined;
		const reply = explained(query, inspection, sidecar.watchers(query));
		return { key, ...reply, instances: reply.instances.slice(0, DETAILS_MAX) };
	}

	/** What one client subscribes to; undefined if it is not connected. */
	client(id: number): ClientDetail | undefined {
		const { sidecar } = this.#options;
		const watched = sidecar.watched(id);
		if (watched === undefined) return undefined;
		const { services: known } = this.current();
		const services = watched.services.slice(0, DETAILS_MAX).flatMap((key) => {
			const view = known.get(key)?.view;
			if (view === undefined) return [];
			const { service, label, state, instances, healthy } = view;
			return [{ key, service, label, state, instances, healthy }];
		});
		const watches = new Map(sidecar.status().keyWatches.map((watch) => [keyQueryKey(watch), watch]));
		const keys = watched.keys.slice(0, DETAILS_MAX).flatMap((name) => {
			const watch = watches.get(name);
			if (watch === undefined) return [];
			const { key, prefix, state } = watch;
			return [{ key, ...(prefix && { prefix }), state }];
		});
		return { id, services, keys };
	}

	#sample(nowMs: number): StatusSample {
		const { sidecar, durations, changes, clock } = this.#options;
		const at = Math.round(clock.wallNow());
		const status = sidecar.status();
		const gauges = sidecar.gauges();
		this.#failure = commonFailureOf(status, at, this.#failure);
		this.#services.sample(status.watches, at, this.#failure);
		const latency = this.#latency.sample(durations(), nowMs);
		const connections = this.#connections.sample(sidecar.connections(), { nowMs, at, grpc: gauges.grpcConnections });
		const { bytesRead, bytesWritten } = this.#connections;
		const requests = latency.total.reduce((total, count) => total + count, 0);
		const total = { atMs: nowMs, requests, bytesRead, bytesWritten };
		const rates = ratesBetween(this.#total, total);
		this.#total = total;
		const { events = null } = status;
		const recordsPerSecond = this.#writtenSince(events, nowMs);
		const overview = this.#overview(status, at, { rates, latency, recordsPerSecond, inFlight: gauges.inFlight });
		const lists = {
			registrations: registrationsOf(status),
			keys: keysOf(status, this.#failure),
			changes: changes.changes,
		};
		return { overview, services: this.#services.rows, connections, events, ...lists };
	}

	#writtenSince(events: EventsStatus | null, atMs: number): number | null {
		const before = this.#log;
		// Until it is open its next position is 0.
		this.#log = events === null || events.next === 0 ? undefined : { atMs, next: events.next };
		if (before === undefined || this.#log === undefined || atMs <= before.atMs) return null;
		return (Math.max(0, this.#log.next - before.next) * 1000) / (atMs - before.atMs);
	}

	#overview(
		status: StatusReply,
		at: number,
		measured: Pick<OverviewView, 'rates' | 'latency' | 'recordsPerSecond' | 'inFlight'>,
	): OverviewView {
		const { sidecar, instance, pid, uptimeMs, phase, ready, reasons, backend, connections, subscriptions } = status;
		this.#startedAt ??= at - uptimeMs;
		return {
			...{ at, sidecar, instance, host: this.#options.host, pid, startedAt: this.#startedAt },
			...{ phase, ready, reasons, backend, failure: this.#failure },
			...{ services: status.watches.length, connections, subscriptions, keys: status.keyWatches.length },
			registrations: status.registrations.length,
			hasEvents: status.events !== undefined,
			...measured,
		};
	}
}

function registrationsOf({ registrations }: StatusReply): RegistrationView[] {
	return registrations
		.slice(0, LIST_MAX)
		.map(({ service, instance, state, error, phase, holders, status, note, app }) => ({
			...{ service, instance, state, error, phase, holders, status },
			...(note !== undefined && { note }),
			...(app !== undefined && { app }),
		}));
}

/** Without their ages, with which they would be sent again each second. */
function keysOf({ keyWatches }: StatusReply, failure: CommonFailure | null): KeyView[] {
	return keyWatches
		.slice(0, LIST_MAX)
		.map(({ ageMs: _ageMs, ...key }) => ({ ...key, error: ownError(key.error, failure) }));
}

/** A whole sample, as it is sent. */
export function viewOf({ services, ...sample }: StatusSample): StatusView {
	return { ...sample, services: Array.from(services.values(), ({ view }) => view) };
}

/** How far back the recent requests go, in milliseconds. */
const WINDOW_MS = 60_000;
/** Samples kept: one for each second of the window. */
const SAMPLES_MAX = 61;

/** Durations of requests: since the start, and of the last minute. */
export class LatencyWindow {
	/** The oldest first. */
	#samples: { readonly atMs: number; readonly counts: readonly number[] }[] = [];

	/** Takes a sample at a moment of the monotonic clock. */
	sample({ boundsMs, counts }: Durations, atMs: number): LatencyView {
		const kept = this.#samples.filter((sample) => atMs - sample.atMs <= WINDOW_MS);
		this.#samples = [...kept.slice(1 - SAMPLES_MAX), { atMs, counts }];
		const oldest = this.#samples[0];
		const before = oldest?.counts ?? counts;
		return {
			boundsMs,
			total: counts,
			recent: counts.map((count, index) => count - (before[index] ?? 0)),
			recentMs: Math.round(atMs - (oldest?.atMs ?? atMs)),
		};
	}
}
