import {
	type BackendStatus,
	type CallOptions,
	type ServiceInstance,
	type ServiceListEntry,
	type ServiceQuery,
	SpockError,
} from '@spock/protocol';
import { ageClockOf, withAnySignal } from '@spock/protocol/internal';

import type { Backend, BackendObserver, BackendWatch } from '../../foundation/backend.ts';
import { DnsClient } from './dns-client.ts';
import { type DnsBackendOptions, type ResolvedDnsOptions, resolveDnsOptions } from './dns-options.ts';
import { formatServer } from './dns-servers.ts';
import { type DnsRound, DnsWatch } from './dns-watch.ts';
import { type Asked, instancesOf, negativeTtl, readAddresses, readSrv, type Timed } from './srv-instances.ts';

const NO_INSTANCES: readonly never[] = Object.freeze([]);

/**
 * Services from SRV records, queried again when they expire. A name that does not exist is a service without instances;
 * a server that cannot answer is a failure, so that the last known instances stay. DNS cannot list services: `list`
 * rejects with UNKNOWN_FUNC. Throws a TypeError or RangeError naming the option that is wrong. Source: RFC 2782.
 */
export function dnsBackend(options: DnsBackendOptions = {}): Backend {
	return new DnsBackend(resolveDnsOptions(options));
}

class DnsBackend implements Backend {
	readonly name = 'dns';
	readonly #options: ResolvedDnsOptions;
	readonly #client: DnsClient;
	readonly #watches = new Set<DnsWatch>();
	readonly #closed = new AbortController();
	#lastSuccessAtMs: number | undefined;
	#error: SpockError | undefined;

	constructor(options: ResolvedDnsOptions) {
		this.#options = options;
		this.#client = new DnsClient(options);
	}

	watch(query: ServiceQuery, observer: BackendObserver): BackendWatch {
		this.#refuseIfClosed();
		const { clock, random } = this.#options;
		const targets: KnownTargets = new Map();
		const watch = new DnsWatch({ resolve: (signal) => this.#round(query, targets, signal), observer, clock, random });
		this.#watches.add(watch);
		watch.start();
		return {
			retry: () => watch.retry(),
			stop: () => {
				watch.stop();
				this.#watches.delete(watch);
			},
		};
	}

	async list(): Promise<readonly ServiceListEntry[]> {
		this.#refuseIfClosed();
		throw new SpockError('UNKNOWN_FUNC', 'DNS cannot list services: it only resolves names', {
			details: { backend: this.name },
		});
	}

	/** Queries the suffix of all service names: any response of a server will do. */
	async probe({ signal }: CallOptions = {}): Promise<void> {
		this.#refuseIfClosed();
		const { suffix } = this.#options.template;
		await withAnySignal([this.#closed.signal, signal], (either) =>
			this.#report(() => this.#client.ask({ name: suffix || '.', type: 'SOA' }, either)),
		);
	}

	status(): BackendStatus {
		const sinceMs = this.#lastSuccessAtMs;
		return {
			name: this.name,
			state: this.#error !== undefined ? 'down' : sinceMs === undefined ? 'connecting' : 'up',
			addresses: this.#options.servers.current.map(formatServer),
			error: this.#error?.message ?? null,
			lastSuccessAgeMs: sinceMs === undefined ? null : Math.max(0, this.#options.clock.now() - sinceMs),
		};
	}

	async close(): Promise<void> {
		this.#closed.abort();
		for (const watch of this.#watches) watch.stop();
		this.#watches.clear();
	}

	async #round(query: ServiceQuery, targets: KnownTargets, signal: AbortSignal): Promise<DnsRound> {
		const { template, ttlMsMin, ttlMsMax, negativeTtlMsMax } = this.#options;
		const name = template.nameOf(query);
		if (name === undefined) return { instances: NO_INSTANCES, againMs: ttlMsMax };
		const ages = ageClockOf(this.#options.clock);
		const { instances, ttl, since } = await this.#report(() =>
			resolveService(this.#client, name, query, { targets, nowMs: ages.now(), signal }),
		);
		const olderMs = since === undefined ? 0 : ages.now() - since;
		const againMsMax = instances.length === 0 ? negativeTtlMsMax : ttlMsMax;
		const againMs = ttl === undefined ? againMsMax : ttl * 1000;
		return { instances, againMs: Math.min(Math.max(againMs, ttlMsMin), againMsMax), olderMs };
	}

	/** Stores the outcome for `status` and reports it. */
	async #report<T>(ask: () => Promise<T>): Promise<T> {
		const { clock, onEvent } = this.#options;
		const startedAtMs = clock.now();
		try {
			const answer = await ask();
			this.#lastSuccessAtMs = clock.now();
			this.#error = undefined;
			onEvent({ type: 'backend-query', outcome: 'ok', durationMs: clock.now() - startedAtMs });
			return answer;
		} catch (reason) {
			const error = SpockError.from(reason);
			if (error.code !== 'ABORTED') {
				this.#error = error;
				onEvent({ type: 'backend-query', outcome: 'failed', durationMs: clock.now() - startedAtMs, error });
			}
			throw error;
		}
	}

	#refuseIfClosed(): void {
		if (this.#closed.signal.aborted) throw new SpockError('CLOSED', 'the DNS backend was closed');
	}
}

/** The addresses of each target that was resolved, and when, by the age clock. */
type KnownTargets = Map<string, { readonly addresses: readonly string[]; readonly atMs: number }>;

/** The answer of DNS for a service. */
interface ResolvedService {
	/** Empty when the name does not exist, or has no SRV records. */
	readonly instances: readonly ServiceInstance[];
	/** How long it is valid, in seconds; undefined where the server did not say. */
	readonly ttl: number | undefined;
	/** When the oldest address was resolved that is used because its target cannot be resolved now, by the age clock. */
	readonly since?: number | undefined;
}

/**
 * The instances of a name: its SRV records, and the addresses of their targets, which the server adds or which are queried
 * for. A target without an address is left out; one that cannot be resolved now has the addresses that were known last. Rejects with
 * UNAVAILABLE if none can, or ABORTED.
 */
async function resolveService(
	client: DnsClient,
	name: string,
	asked: Asked,
	{
		targets: known,
		nowMs,
		signal,
	}: { readonly targets: KnownTargets; readonly nowMs: number; readonly signal: AbortSignal },
): Promise<ResolvedService> {
	const reply = await client.ask({ name, type: 'SRV' }, signal);
	const records = readSrv(reply, name);
	if (records.values.length === 0) return { instances: [], ttl: negativeTtl(reply) ?? records.ttl };
	const ttls = [records.ttl];
	const addresses = new Map<string, readonly string[]>();
	const targets = [...new Set(records.values.map(({ target }) => target))];
	const outcomes = await Promise.allSettled(
		targets.map(async (target) => {
			const added = readAddresses(reply.additionals, target);
			const found = added.values.length > 0 ? added : await askAddresses(client, target, signal);
			known.set(target, { addresses: found.values, atMs: nowMs });
			ttls.push(found.ttl);
		}),
	);
	const failed = outcomes.find((outcome) => outcome.status === 'rejected');
	if (failed !== undefined && (signal.aborted || outcomes.every(({ status }) => status === 'rejected')))
		throw failed.reason;
	for (const target of known.keys()) if (!targets.includes(target)) known.delete(target);
	for (const [target, found] of known) addresses.set(target, found.addresses);
	const since = failed === undefined ? undefined : Math.min(...[...known.values()].map(({ atMs }) => atMs));
	// Soon again, for the one that could not be resolved.
	const ttl = failed === undefined ? Math.min(...ttls.filter((one) => one !== undefined)) : 0;
	return { instances: instancesOf(records.values, addresses, asked), ttl, since };
}

async function askAddresses(client: DnsClient, host: string, signal: AbortSignal): Promise<Timed<string>> {
	const v4 = await client.ask({ name: host, type: 'A' }, signal);
	const found = readAddresses(v4.answers, host);
	if (found.values.length > 0) return found;
	const v6 = await client.ask({ name: host, type: 'AAAA' }, signal);
	const other = readAddresses(v6.answers, host);
	return other.values.length > 0 ? other : { values: [], ttl: negativeTtl(v6) };
}
