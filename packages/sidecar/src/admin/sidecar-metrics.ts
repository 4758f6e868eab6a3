import type { DiscoveryEvent } from '@spock/discovery';
import type { SupervisionStatus } from '@spock/protocol';
import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';

import type { ResolvedLimits } from '../options.ts';
import type { TlsFailure } from '../server/tls-server.ts';
import type { SidecarGauges } from '../sidecar.ts';
import type { CloseReason, LimitName, OverloadSignal, SidecarObserver } from '../sidecar-observer.ts';
import { type Durations, RequestMetrics } from './request-metrics.ts';

/** What is read at each scrape. */
export interface MetricsSource {
	gauges(): SidecarGauges;
	watches(): number;
	keyWatches(): number;
	isReady(): boolean;
	/** The limits in force, by name; what is no number is left out. */
	readonly limits: Readonly<Record<keyof ResolvedLimits, number | string>>;
}

/**
 * The metrics of one sidecar, in a registry of their own. Labels are bounded: functions and error codes come from closed
 * tables, and a function that does not exist is `other`.
 */
export class SidecarMetrics implements SidecarObserver {
	readonly registry: Registry = new Registry();
	readonly #requests = new RequestMetrics(this.registry);
	readonly #opened = this.#counter('spock_connections_opened_total', 'Connections accepted', []);
	readonly #closed = this.#counter('spock_connections_closed_total', 'Connections closed, by reason', ['reason']);
	readonly #refused = this.#counter('spock_connections_refused_total', 'Connections over the limit', []);
	readonly #bytes = this.#counter('spock_closed_connection_bytes_total', 'Bytes of closed connections', ['direction']);
	readonly #pushes = this.#counter('spock_pushes_total', 'Pushes sent, or superseded before they were read', [
		'outcome',
	]);
	readonly #goaways = this.#counter('spock_goaways_total', 'Times clients were asked to leave', ['reason']);
	readonly #queries = this.#counter('spock_backend_queries_total', 'Queries to the registry', ['outcome']);
	readonly #published = this.#counter('spock_snapshots_published_total', 'Snapshots published, by source', ['source']);
	readonly #keysPublished = this.#counter('spock_key_snapshots_published_total', 'Answers about keys published', [
		'source',
	]);

	readonly #holds = this.#counter('spock_holds_total', 'Empty answers held back, by what came of it', ['outcome']);
	readonly #panics = this.#counter('spock_panics_total', 'Times that all instances of a service were served', []);
	readonly #state = this.#counter('spock_state_files_total', 'Files of the state directory, by outcome', ['outcome']);

	readonly #limited = this.#counter('spock_limit_reached_total', 'Times that clients ran into a limit', ['limit']);
	readonly #overloads = this.#counter('spock_overloads_total', 'Overloads begun, by what showed them', ['signal']);
	readonly #tlsFailed = this.#counter('spock_tls_handshakes_failed_total', 'TLS handshakes that failed', ['reason']);
	readonly #acceptFailed = this.#counter('spock_accepts_failed_total', 'Connections not accepted', ['code']);
	readonly #windows = this.#counter('spock_window_pushes_total', 'Windows told to clients', ['direction']);

	constructor() {
		collectDefaultMetrics({ register: this.registry });
	}

	/** Tells of the supervisor; left out where there is none. */
	supervised({ restarts, lastExit }: SupervisionStatus): void {
		const registers = [this.registry];
		const counter = new Counter({ name: 'spock_worker_crashes_total', help: 'Workers that have crashed', registers });
		counter.inc(restarts);
		if (lastExit === null) return;
		const labelNames = ['reason'] as const;
		const help = 'When the last worker crashed, in seconds since 1970, by its signal or exit code';
		const gauge = new Gauge({ name: 'spock_worker_last_crash_timestamp_seconds', help, labelNames, registers });
		gauge.set({ reason: lastExit.signal ?? `exit-${lastExit.code}` }, lastExit.at / 1000);
	}

	/** Adds the gauges that are read at each scrape. */
	observe(source: MetricsSource): void {
		const gauge = (name: string, help: string, read: () => number): void => {
			const registers = [this.registry];
			new Gauge({
				name,
				help,
				registers,
				collect() {
					this.set(read());
				},
			});
		};
		gauge('spock_connections', 'Connections open', () => source.gauges().connections);
		gauge('spock_subscriptions', 'Subscriptions of all connections', () => source.gauges().subscriptions);
		gauge(
			'spock_subscriptions_oversize',
			'Subscriptions whose newest answer is too long for the frames of their client',
			() => source.gauges().oversizeSubscriptions,
		);
		gauge('spock_requests_in_flight', 'Requests waiting for an answer', () => source.gauges().inFlight);
		gauge('spock_output_bytes', 'Output that clients have not read', () => source.gauges().outputBytes);
		gauge('spock_windows_narrowed', 'Connections that were asked for less', () => source.gauges().narrowed);
		gauge('spock_registrations', 'Instances kept registered for apps', () => source.gauges().registrations);
		gauge(
			'spock_registrations_pending',
			'Instances that the registry does not know yet, or any more',
			() => source.gauges().registrationsPending,
		);
		gauge('spock_watches', 'Different questions watched at the registry', () => source.watches());
		gauge('spock_key_watches', 'Different keys and prefixes watched at the registry', () => source.keyWatches());
		gauge('spock_ready', '1 when ready', () => (source.isReady() ? 1 : 0));
		const limits = new Gauge({
			name: 'spock_limit',
			help: 'The limits in force',
			labelNames: ['limit'],
			registers: [this.registry],
		});
		for (const [limit, value] of Object.entries(source.limits)) {
			if (typeof value === 'number') limits.set({ limit }, value);
		}
	}

	/** Requests by how long they took. */
	durations(): Durations {
		return this.#requests.durations();
	}

	answered(func: string, code: string, durationMs: number, count: number): void {
		this.#requests.add(func, code, durationMs, count);
	}

	connectionOpened(): void {
		this.#opened.inc();
	}

	connectionClosed(_id: number, reason: CloseReason, bytesRead: number, bytesWritten: number): void {
		this.#closed.inc({ reason });
		this.#bytes.inc({ direction: 'read' }, bytesRead);
		this.#bytes.inc({ direction: 'written' }, bytesWritten);
	}

	connectionRefused(): void {
		this.#refused.inc();
	}

	pushed(outcome: 'sent' | 'superseded'): void {
		this.#pushes.inc({ outcome });
	}

	goaway({ reason }: { readonly reason: string }): void {
		this.#goaways.inc({ reason });
	}

	limited(limit: LimitName): void {
		this.#limited.inc({ limit });
	}

	overload(signals: readonly OverloadSignal[]): void {
		for (const signal of signals) this.#overloads.inc({ signal });
	}

	acceptFailed(error: Error): void {
		this.#acceptFailed.inc({ code: (error as NodeJS.ErrnoException).code ?? 'other' });
	}

	tlsFailed(reason: TlsFailure): void {
		this.#tlsFailed.inc({ reason });
	}

	windowTold(direction: 'narrowed' | 'widened'): void {
		this.#windows.inc({ direction });
	}

	/** Counts what happens in discovery. */
	discovered(event: DiscoveryEvent): void {
		switch (event.type) {
			case 'backend-query':
				this.#queries.inc({ outcome: event.outcome });
				return;
			case 'published':
				this.#published.inc({ source: event.snapshot.source });
				return;
			case 'key-published':
				this.#keysPublished.inc({ source: event.source });
				return;
			case 'held':
				this.#holds.inc({ outcome: 'begun' });
				return;
			case 'hold-ended':
				this.#holds.inc({ outcome: event.outcome });
				return;
			case 'panic':
				if (event.active) this.#panics.inc();
				return;
			case 'state-restored':
				this.#state.inc({ outcome: 'restored' });
				return;
			case 'state-refused':
				this.#state.inc({ outcome: 'refused' });
				return;
			case 'state-write':
				this.#state.inc({ outcome: event.outcome === 'ok' ? 'written' : 'write-failed' });
				return;
			default:
				return;
		}
	}

	#counter<L extends string>(name: string, help: string, labelNames: readonly L[]): Counter<L> {
		return new Counter({ name, help, labelNames: [...labelNames], registers: [this.registry] });
	}
}
