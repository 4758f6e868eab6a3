import type { EventsObserver } from '@spock/events';
import type { ErrorCode, EventsStatus, GroupStatus } from '@spock/protocol';
import { type Clock, systemClock } from '@spock/protocol/internal';
import type { Registry } from 'prom-client';

import type { Metric } from './metric.ts';
import { StreamTally } from './stream-tally.ts';
import { DurationTally, oncePerTurn, registerSeries, type Series, TalliedHistogram, Tally } from './tallied.ts';

/** Groups that a scrape names: those with the most events to do. */
const GROUPS_MAX = 32;
/** From a disk with a battery-backed cache to one that hangs. */
const SYNC_BUCKETS_SECONDS: readonly number[] = [
	0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
];

const REFUSALS = {
	BAD_REQUEST: 'a stream that `--events-streams` does not have',
	FRAME_TOO_LARGE: '',
	BAD_FRAME: 'not an event; its connection is closed',
	other: '',
} satisfies Partial<Record<ErrorCode | 'other', string>>;

/** Counted from what is reported; without what the status says already. */
interface EventsCounts {
	readonly accepted: StreamTally;
	readonly persisted: StreamTally;
	readonly duplicate: StreamTally;
	readonly delivered: StreamTally;
	readonly redelivered: StreamTally;
	readonly dead: StreamTally;
	readonly stored: StreamTally;
	readonly parked: StreamTally;
	readonly storeFailed: StreamTally;
	readonly storeWentBack: StreamTally;
	readonly refused: Tally;
	damaged: number;
	lost: number;
	left: number;
	readonly blockedMs: () => number;
}

/** A metric of events: what a scrape reads, from the status of the log or from the counts. */
interface EventsMetric extends Omit<Metric, 'read' | 'on'> {
	readonly series: (status: EventsStatus, counts: EventsCounts) => Iterable<Series>;
}

const SYNC_SECONDS: Metric = {
	type: 'histogram',
	help: 'Time of a write to the log and its sync: what an event waits for at least',
};

const STREAM = `the first ${StreamTally.namesMax} streams, then \`other\``;

const table: Readonly<Record<string, EventsMetric>> = {
	spock_events_accepted_total: ofStream('Events taken from producers', 'accepted'),
	spock_events_persisted_total: ofStream('Events on disk, which is when producers are told', 'persisted'),
	spock_events_duplicate_total: ofStream('Events left out, because their `id` came before', 'duplicate'),
	spock_events_refused_total: {
		type: 'counter',
		help: 'Events refused, by the code that their producer is told',
		labels: { code: REFUSALS },
		series: (_status, { refused }) => refused.series(),
	},
	spock_events_delivered_total: ofStream('Deliveries to consumers', 'delivered'),
	spock_events_redelivered_total: ofStream('Deliveries of events that were delivered before', 'redelivered'),
	spock_events_dead_total: ofStream('Events given up and moved to the stream of the dead', 'dead'),
	spock_events_stored_total: ofStream('Events that a store elsewhere has acknowledged', 'stored'),
	spock_events_store_lag: {
		type: 'gauge',
		help: 'Events on disk that the store of their stream has not taken; 0 where the log is the store',
		labels: { stream: `the first ${StreamTally.namesMax} streams, by name` },
		series: ({ streams }) =>
			streams.slice(0, StreamTally.namesMax).map(({ stream, unstored }) => [{ stream }, unstored]),
	},
	spock_events_store_failures_total: ofStream('Failures of a store elsewhere; each is tried again', 'storeFailed'),
	spock_events_store_faults: {
		type: 'gauge',
		help: 'Streams whose store elsewhere cannot be used now',
		labels: { doing: '`sending` events there, or `reading` them for consumers' },
		series: ({ storeFaults = [] }) =>
			(['sending', 'reading'] as const).map((doing) => [
				{ doing },
				storeFaults.filter((fault) => fault.doing === doing).length,
			]),
	},
	spock_events_store_rollbacks_total: ofStream(
		'Times that a store elsewhere had lost what it acknowledged, which was sent again',
		'storeWentBack',
	),
	spock_events_parked_total: ofStream(
		'Events that a store elsewhere never takes, and that are in the stream with `.refused` behind its name',
		'parked',
	),
	spock_events_log_bytes: gauge('Bytes of the log on disk', ({ bytes }) => bytes),
	spock_events_log_bytes_max: gauge(
		'Bytes that the log may take, `--events-bytes-max`; 0 until it is open',
		({ bytesMax }) => bytesMax,
	),
	spock_events_unstored_events: gauge('Events taken that are not on disk yet', ({ unstored }) => unstored),
	spock_events_oldest_unstored_seconds: gauge(
		'How long the oldest of them waits; 0 if none does',
		({ oldestUnstoredMs: ms }) => (ms ?? 0) / 1000,
	),
	spock_events_window_bytes: gauge('Bytes that producers may send, all together', ({ windowBytes }) => windowBytes),
	spock_events_blocked: gauge('1 while no events are taken, and producers wait', ({ state }) =>
		state === 'receiving' ? 0 : 1,
	),
	spock_events_blocked_seconds_total: {
		type: 'counter',
		help: 'Time in which no events were taken, because the log was full or could not be written',
		series: (_status, { blockedMs }) => [[{}, blockedMs() / 1000]],
	},
	spock_events_lag: {
		type: 'gauge',
		help: 'Events that a group has not done',
		labels: { stream: `of the ${GROUPS_MAX} groups with the most`, group: 'as above' },
		series: ({ groups }) => laggingGroups(groups).map(({ stream, group, lag }) => [{ stream, group }, lag ?? 0]),
	},
	spock_events_oldest_unacked_seconds: gauge(
		'Longest time since an event was delivered and not acknowledged, of all groups; 0 if none is out',
		({ groups }) => Math.max(0, ...groups.map(({ oldestUnackedMs: ms }) => ms ?? 0)) / 1000,
	),
	spock_events_producers: gauge(
		'Producers that are known, connected or not; at 4096 the oldest idle one is forgotten, or the new one refused',
		({ producers }) => producers,
	),
	spock_events_ids_forgotten_total: {
		type: 'counter',
		help: 'Ids of events forgotten before their two minutes were over, because there were too many',
		series: ({ idsForgotten }) => [[{}, idsForgotten]],
	},
	spock_events_damaged_records_total: {
		type: 'counter',
		help: 'Records of the log that were written and cannot be read',
		series: (_status, { damaged }) => [[{}, damaged]],
	},
	spock_events_log_lost_total: {
		type: 'counter',
		help: 'Producers that had been told of more events than the log has',
		series: (_status, { lost }) => [[{}, lost]],
	},
	spock_events_left_at_exit: gauge(
		'Records taken and not on disk when the log was closed; no producer was told of them',
		(_status, { left }) => left,
	),
};

/** Metrics of events; there are none where events are off. */
export const eventsMetrics: Readonly<Record<string, Metric>> = { ...table, spock_events_sync_seconds: SYNC_SECONDS };

/** Counts what happens to events. Names of streams and groups come from apps, and are bounded. */
export class EventsMetrics {
	readonly observer: EventsObserver;
	readonly #counts: EventsCounts;
	readonly #syncs = new DurationTally(SYNC_BUCKETS_SECONDS);
	/** One list of names, so that a stream has each of its counters from its first event on. */
	readonly #streams = new Set<string>();

	constructor(clock: Pick<Clock, 'now'> = systemClock) {
		const blocked = new BlockedTime(clock);
		const tally = (): StreamTally => new StreamTally(this.#streams);
		const counts: EventsCounts = {
			...{ accepted: tally(), persisted: tally(), duplicate: tally() },
			...{ delivered: tally(), redelivered: tally(), dead: tally() },
			...{ stored: tally(), parked: tally(), storeFailed: tally(), storeWentBack: tally() },
			refused: new Tally({ labels: { code: REFUSALS } }),
			...{ damaged: 0, lost: 0, left: 0 },
			blockedMs: () => blocked.totalMs,
		};
		this.#counts = counts;
		this.observer = {
			accepted: (stream, count) => counts.accepted.add(stream, count),
			persisted: (stream, count) => counts.persisted.add(stream, count),
			duplicate: (stream, count) => counts.duplicate.add(stream, count),
			refused: (_stream, { code }) => counts.refused.count(code),
			delivered: (stream, _group, count) => counts.delivered.add(stream, count),
			redelivered: (stream, _group, count) => counts.redelivered.add(stream, count),
			dead: (stream) => counts.dead.add(stream, 1),
			stored: (stream, count) => counts.stored.add(stream, count),
			parked: (stream) => counts.parked.add(stream, 1),
			storeFailed: (stream) => counts.storeFailed.add(stream, 1),
			storeUnreadable: (stream) => counts.storeFailed.add(stream, 1),
			storeWentBack: (stream) => counts.storeWentBack.add(stream, 1),
			synced: (durationMs) => this.#syncs.add(durationMs / 1000, 1),
			blocked: (reason) => blocked.set(reason !== null),
			damaged: ({ from, to }) => {
				counts.damaged += to - from;
			},
			logLost: () => {
				counts.lost++;
			},
			leftAtExit: (records) => {
				counts.left += records;
			},
		};
	}

	/** Registers them; `status` is read once at each scrape. */
	register(registry: Registry, status: () => EventsStatus): void {
		const read = oncePerTurn(status);
		for (const [name, metric] of Object.entries(table)) {
			registerSeries(registry, name, metric, () => {
				const now = read();
				// Those that were there before this process count from 0.
				for (const { stream } of now.streams) this.#counts.dead.know(stream);
				return metric.series(now, this.#counts);
			});
		}
		const syncs = this.#syncs;
		new TalliedHistogram(registry, 'spock_events_sync_seconds', SYNC_SECONDS, SYNC_BUCKETS_SECONDS, () => [
			[{}, syncs],
		]);
	}
}

function gauge(help: string, read: (status: EventsStatus, counts: EventsCounts) => number): EventsMetric {
	return { type: 'gauge', help, series: (status, counts) => [[{}, read(status, counts)]] };
}

type StreamCount = { [N in keyof EventsCounts]: EventsCounts[N] extends StreamTally ? N : never }[keyof EventsCounts];

function ofStream(help: string, count: StreamCount): EventsMetric {
	return {
		type: 'counter',
		help,
		labels: { stream: STREAM },
		series: (_status, counts) => counts[count].series(),
	};
}

/** Those that say how much they have to do: what a store elsewhere has for a group is not known here. */
function laggingGroups(all: readonly GroupStatus[]): readonly GroupStatus[] {
	const groups = all.filter(({ lag }) => lag !== null);
	if (groups.length <= GROUPS_MAX) return groups;
	return groups.sort((one, other) => (other.lag ?? 0) - (one.lag ?? 0)).slice(0, GROUPS_MAX);
}

/** How long nothing was taken, until now. */
class BlockedTime {
	readonly #clock: Pick<Clock, 'now'>;
	#endedMs = 0;
	#sinceMs: number | undefined;

	constructor(clock: Pick<Clock, 'now'>) {
		this.#clock = clock;
	}

	get totalMs(): number {
		return this.#endedMs + (this.#sinceMs === undefined ? 0 : this.#clock.now() - this.#sinceMs);
	}

	set(isBlocked: boolean): void {
		this.#endedMs = this.totalMs;
		this.#sinceMs = isBlocked ? this.#clock.now() : undefined;
	}
}
