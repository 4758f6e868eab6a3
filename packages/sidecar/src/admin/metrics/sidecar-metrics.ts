import type { DiscoveryEvent } from '@spock/discovery';
import { type Clock, systemClock } from '@spock/protocol/internal';
import { Gauge, Registry } from 'prom-client';

import type { CloseReason, LimitName, OverloadSignal, SidecarObserver, TlsFailure } from '../../foundation/observer.ts';
import type { TakeOverEvent } from '../../take-over/take-over.ts';
import { DiscoveryCounts } from './discovery-counts.ts';
import { Gauges, type MetricsSource } from './gauges.ts';
import { factsOf } from './metric-table.ts';
import { GrpcCounts, PlainCounts } from './plain-figures.ts';
import { EventLoopMetrics, registerProcessMetrics } from './process-metrics.ts';
import { type Durations, RequestMetrics } from './request-metrics.ts';

/**
 * The metrics of one sidecar, in a registry of their own. Labels are bounded: functions and error codes come from closed
 * tables, a function that does not exist is `other`, and services are named up to a limit.
 */
export class SidecarMetrics implements SidecarObserver {
	readonly registry: Registry = new Registry();
	readonly #requests = new RequestMetrics(this.registry);
	readonly #discovery = new DiscoveryCounts(this.registry);
	readonly #grpc = new GrpcCounts(this.registry);
	readonly #opened = this.#counts('spock_connections_opened_total');
	readonly #closed = this.#counts('spock_connections_closed_total');
	readonly #refused = this.#counts('spock_connections_refused_total');
	readonly #acceptFailed = this.#counts('spock_accepts_failed_total');
	readonly #tlsFailed = this.#counts('spock_tls_handshakes_failed_total');
	readonly #pushes = this.#counts('spock_pushes_total');
	readonly #goaways = this.#counts('spock_goaways_total');
	readonly #limited = this.#counts('spock_limit_reached_total');
	readonly #overloads = this.#counts('spock_overloads_total');
	readonly #windows = this.#counts('spock_window_pushes_total');
	readonly #takeOvers = this.#counts('spock_take_overs_total');
	readonly #faults = this.#counts('spock_faults_total');
	readonly #eventLoop: EventLoopMetrics;
	#closedBytes = { read: 0, written: 0 };
	#phase: string = 'starting';

	/** Counts from now on, what it is told. `clock` is for the delay of the event loop; default: that of the process. */
	constructor(clock: Clock = systemClock) {
		registerProcessMetrics(this.registry);
		this.#eventLoop = new EventLoopMetrics(this.registry, clock);
		this.#registerPhase();
	}

	/** Tells of the lines that the log lacks; `read` gives their counts since the start. */
	log(read: () => Readonly<Record<'unread' | 'limited', number>>): void {
		new PlainCounts(this.registry, 'spock_log_lines_dropped_total', read);
	}

	/** Adds what is read at each scrape, and measures the event loop from now on until `close`. */
	observe(source: MetricsSource): void {
		const gauges = new Gauges(this.registry, source);
		const closed = this.#closedBytes;
		// Behind the gauges, which have just been read.
		new PlainCounts(this.registry, 'spock_connection_bytes_total', () => {
			const { bytesRead, bytesWritten } = gauges.load;
			return { read: closed.read + bytesRead, written: closed.written + bytesWritten };
		});
		this.#eventLoop.start();
	}

	/** Ends its timer. What it has counted stays. */
	close(): void {
		this.#eventLoop.close();
	}

	/** Requests by how long they took. */
	durations(): Durations {
		return this.#requests.durations();
	}

	answered(func: string, code: string, durationMs: number, count: number): void {
		this.#requests.add(func, code, durationMs, count);
	}

	grpcAnswered(method: string, code: string): void {
		this.#grpc.add(method, code);
	}

	connectionOpened(): void {
		this.#opened.add();
	}

	connectionClosed(_id: number, reason: CloseReason, bytesRead: number, bytesWritten: number): void {
		this.#closed.add(reason);
		this.#closedBytes.read += bytesRead;
		this.#closedBytes.written += bytesWritten;
	}

	connectionRefused(): void {
		this.#refused.add();
	}

	pushed(outcome: 'sent' | 'superseded'): void {
		this.#pushes.add(outcome);
	}

	goaway({ reason }: { readonly reason: string }): void {
		this.#goaways.add(reason);
	}

	limited(limit: LimitName): void {
		this.#limited.add(limit);
	}

	overload(signals: readonly OverloadSignal[]): void {
		for (const signal of signals) this.#overloads.add(signal);
	}

	acceptFailed(error: Error): void {
		this.#acceptFailed.add((error as NodeJS.ErrnoException).code ?? 'other');
	}

	tlsFailed(reason: TlsFailure): void {
		this.#tlsFailed.add(reason);
	}

	windowTold(direction: 'narrowed' | 'widened'): void {
		this.#windows.add(direction);
	}

	fault(): void {
		this.#faults.add();
	}

	phase(phase: string): void {
		this.#phase = phase;
		if (phase === 'handing over') this.#takeOvers.add('handed over');
	}

	placeLost(): void {
		this.#takeOvers.add('place lost');
	}

	/** Counts a step of a take-over. */
	tookOver({ step }: TakeOverEvent): void {
		this.#takeOvers.add(step);
	}

	/** Counts what happens in discovery. */
	discovered(event: DiscoveryEvent): void {
		this.#discovery.add(event);
	}

	#counts(name: string): PlainCounts {
		return new PlainCounts(this.registry, name);
	}

	#registerPhase(): void {
		const name = 'spock_phase';
		const { help, labels: { phase: phases = {} } = {} } = factsOf(name);
		const current = (): string => this.#phase;
		new Gauge({
			name,
			help,
			labelNames: ['phase'],
			registers: [this.registry],
			collect() {
				for (const phase of Object.keys(phases)) this.set({ phase }, phase === current() ? 1 : 0);
			},
		});
	}
}
