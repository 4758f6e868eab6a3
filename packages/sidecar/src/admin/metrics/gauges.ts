import type { BackendStatus, KeyWatchStatus, QuestionState, WatchStatus } from '@spock/protocol';
import { Gauge, type Registry } from 'prom-client';

import type { ResolvedLimits } from '../../foundation/limits.ts';
import { SIDECAR_VERSION } from '../../foundation/version.ts';
import type { SidecarGauges } from '../../lifecycle/sidecar-status.ts';
import { factsOf } from './metric-table.ts';
import { DEFAULT_METRICS_SERVICES_MAX, oldestServices } from './oldest-services.ts';

/** What is read at each scrape. */
export interface MetricsSource {
	gauges(): SidecarGauges;
	watches(): readonly Omit<WatchStatus, 'meta'>[];
	keyWatches(): readonly KeyWatchStatus[];
	backend(): BackendStatus;
	isReady(): boolean;
	/** Services whose age is told by name. Default 20. */
	readonly servicesMax?: number | undefined;
	/** The limits in force, by name; what is no number is left out. */
	readonly limits: Readonly<Record<keyof ResolvedLimits, number | string>>;
}

/** The gauges of a sidecar, read together once for each scrape: some of them are sums over every connection and question. */
export class Gauges {
	readonly #registry: Registry;
	readonly #source: MetricsSource;
	readonly #byName = new Map<string, Gauge>();
	/** As it was read last. */
	load: SidecarGauges;

	/** Registers them. */
	constructor(registry: Registry, source: MetricsSource) {
		this.#registry = registry;
		this.#source = source;
		this.load = source.gauges();
		// A registry asks in the order of registration, each for its values at once: the first one reads for all of them.
		this.#register('spock_ready', () => this.#read());
		const names = [
			'spock_connections',
			'spock_subscriptions',
			'spock_subscriptions_oversize',
			'spock_requests_in_flight',
			'spock_output_bytes',
			'spock_slow_consumers',
			'spock_windows_narrowed',
			'spock_registrations',
			'spock_grpc_connections',
			'spock_grpc_streams',
			'spock_registrations_pending',
			'spock_watches',
			'spock_key_watches',
			'spock_snapshot_age_seconds',
			'spock_snapshot_oldest_age_seconds',
			'spock_backend_up',
			'spock_backend_last_success_age_seconds',
		];
		for (const name of names) this.#register(name);
		const limits = this.#register('spock_limit');
		for (const [limit, value] of Object.entries(source.limits)) {
			if (typeof value === 'number') limits.set({ limit }, value);
		}
		this.#register('spock_build_info').set({ version: SIDECAR_VERSION }, 1);
	}

	#register(name: string, collect?: () => void): Gauge {
		const { help, labels = {} } = factsOf(name);
		const gauge = new Gauge({
			name,
			help,
			labelNames: Object.keys(labels),
			registers: [this.#registry],
			...(collect && { collect }),
		});
		this.#byName.set(name, gauge);
		return gauge;
	}

	#set(name: string, value: number, labels: Readonly<Record<string, string>> = {}): void {
		this.#byName.get(name)?.set(labels, value);
	}

	#read(): void {
		const source = this.#source;
		this.#set('spock_ready', source.isReady() ? 1 : 0);
		const load = source.gauges();
		this.load = load;
		this.#set('spock_connections', load.connections);
		this.#set('spock_subscriptions', load.subscriptions);
		this.#set('spock_subscriptions_oversize', load.oversizeSubscriptions);
		this.#set('spock_requests_in_flight', load.inFlight);
		this.#set('spock_output_bytes', load.outputBytes);
		this.#set('spock_slow_consumers', load.slowConsumers);
		this.#set('spock_windows_narrowed', load.narrowed);
		this.#set('spock_registrations', load.registrations);
		this.#set('spock_registrations_pending', load.registrationsPending);
		this.#set('spock_grpc_connections', load.grpcConnections);
		this.#set('spock_grpc_streams', load.grpcStreams);
		const watches = source.watches();
		const keyWatches = source.keyWatches();
		this.#readStates('spock_watches', watches);
		this.#readStates('spock_key_watches', keyWatches);
		this.#readAges(watches, keyWatches);
		this.#readBackend(source.backend());
	}

	#readStates(name: string, watches: readonly { readonly state: QuestionState }[]): void {
		const counts = { cold: 0, fresh: 0, held: 0, stale: 0 };
		for (const { state } of watches) counts[state]++;
		for (const [state, count] of Object.entries(counts)) this.#set(name, count, { state });
	}

	#readAges(watches: readonly Omit<WatchStatus, 'meta'>[], keyWatches: readonly KeyWatchStatus[]): void {
		let oldestMs = 0;
		for (const { ageMs } of watches) oldestMs = Math.max(oldestMs, ageMs);
		for (const { ageMs } of keyWatches) oldestMs = Math.max(oldestMs, ageMs);
		this.#set('spock_snapshot_oldest_age_seconds', oldestMs / 1000);
		const { servicesMax = DEFAULT_METRICS_SERVICES_MAX } = this.#source;
		this.#byName.get('spock_snapshot_age_seconds')?.reset();
		for (const { service, ageMs } of oldestServices(watches, servicesMax)) {
			this.#set('spock_snapshot_age_seconds', ageMs / 1000, { service });
		}
	}

	#readBackend(status: BackendStatus): void {
		for (const { name: backend, state, lastSuccessAgeMs } of status.members ?? [status]) {
			this.#set('spock_backend_up', state === 'up' ? 1 : 0, { backend });
			if (lastSuccessAgeMs === null) continue;
			this.#set('spock_backend_last_success_age_seconds', lastSuccessAgeMs / 1000, { backend });
		}
	}
}
