import {
	type CallOutcome,
	type CreateOptions,
	createDiplomat,
	type Diplomat,
	type Lease,
	type ServiceInstance,
	type ServiceSnapshot,
	type ServiceSource,
	SpockError,
} from '@spock/client';
import type { SnapshotObserver } from '@spock/protocol';

/** Where an instance is said to be. */
export interface Place {
	readonly id: string;
	readonly host: string;
	readonly port: number;
	readonly status?: ServiceInstance['status'];
	readonly zone?: string | null;
}

/** A lease as it went. */
export interface Call {
	readonly instance: string;
	outcome: CallOutcome | undefined;
	durationMs: number | undefined;
}

/** One service whose instances the test sets, a client of it in direct mode, and every lease that was taken. */
export interface ScriptedService extends AsyncDisposable {
	readonly diplomat: Diplomat;
	readonly calls: readonly Call[];
	/** Who watches the service now. */
	readonly watchers: number;
	set(places: readonly Place[], more?: Pick<ServiceSnapshot, 'panic'>): void;
	/** Leases that were not released. */
	open(): number;
	/** By instance, how many leases were taken. */
	shares(): Record<string, number>;
	outcomes(): (CallOutcome | undefined)[];
}

/** Starts without instances known: the first answer comes when `set` was called. */
export function scriptedService(name: string, options: CreateOptions = {}): ScriptedService {
	let current: ServiceSnapshot | undefined;
	const observers = new Set<SnapshotObserver>();
	const waiting: ((snapshot: ServiceSnapshot) => void)[] = [];
	const empty = (service: string): ServiceSnapshot => ({ ...snapshotOf(service, 1, []), source: 'static' });
	const source: ServiceSource = {
		name: 'scripted',
		peek: (query) => (query.service === name ? current : empty(query.service)),
		get: ({ service }, readOptions) => {
			if (service !== name) return Promise.resolve(empty(service));
			if (current !== undefined) return Promise.resolve(current);
			return new Promise((resolve, reject) => {
				const end = AbortSignal.any([
					readOptions?.signal ?? new AbortController().signal,
					AbortSignal.timeout(readOptions?.timeoutMs ?? 5000),
				]);
				const onEnd = (): void => reject(new SpockError('TIMEOUT', `nothing is known of ${JSON.stringify(service)}`));
				if (end.aborted) onEnd();
				else end.addEventListener('abort', onEnd, { once: true });
				waiting.push(resolve);
			});
		},
		watch: ({ service }, observer) => {
			if (service !== name) return { stop: () => undefined };
			observers.add(observer);
			if (current !== undefined) observer.next(current);
			return { stop: () => observers.delete(observer) };
		},
		list: () => Promise.resolve({ services: [], source: 'live', ageMs: 0, verifiedAt: 0 }),
		close: () => Promise.resolve(),
	};
	const diplomat = createDiplomat({ source, ...options });
	const calls = recordLeases(diplomat);
	const shares = (): Record<string, number> => {
		const counts: Record<string, number> = {};
		for (const { instance } of calls) counts[instance] = (counts[instance] ?? 0) + 1;
		return counts;
	};
	return {
		diplomat,
		calls,
		get watchers() {
			return observers.size;
		},
		set: (places, more) => {
			current = { ...snapshotOf(name, (current?.revision ?? 0) + 1, places), ...more };
			for (const observer of [...observers]) observer.next(current);
			for (const answer of waiting.splice(0)) answer(current);
		},
		open: () => calls.filter(({ outcome }) => outcome === undefined).length,
		shares,
		outcomes: () => calls.map(({ outcome }) => outcome),
		[Symbol.asyncDispose]: () => diplomat.close(),
	};
}

/** Every lease that a client gives from now on. */
export function recordLeases(diplomat: Diplomat): Call[] {
	const calls: Call[] = [];
	const record = (lease: Lease): Lease => {
		const call: Call = { instance: lease.address.instance, outcome: undefined, durationMs: undefined };
		calls.push(call);
		const { query, address } = lease;
		const release: Lease['release'] = (outcome, durationMs) => {
			call.outcome ??= outcome;
			call.durationMs ??= durationMs;
			lease.release(outcome, durationMs);
		};
		return { query, address, release };
	};
	const { acquire, tryAcquire } = diplomat;
	// An acquire that knows the answer calls tryAcquire: one lease is recorded once.
	let isInside = false;
	diplomat.acquire = async (...args) => {
		isInside = true;
		const lease = acquire.apply(diplomat, args);
		isInside = false;
		return record(await lease);
	};
	diplomat.tryAcquire = (...args) => {
		const lease = tryAcquire.apply(diplomat, args);
		return lease === undefined || isInside ? lease : record(lease);
	};
	return calls;
}

export function snapshotOf(service: string, revision: number, places: readonly Place[]): ServiceSnapshot {
	const instances = places.map(({ id, host, port, status = 'passing', zone = null }) => ({
		instance: id,
		host,
		port,
		weight: 1,
		status,
		tags: [],
		meta: {},
		zone,
		datacenter: null,
	}));
	return { service, revision, instances, source: 'live', ageMs: 0, verifiedAt: Date.now() };
}
