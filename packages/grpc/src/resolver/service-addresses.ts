import { subscribe, unsubscribe } from 'node:diagnostics_channel';

import type { Diplomat, ServiceInstance, ServiceQuery, ServiceSnapshot, SpockError } from '@spock/client';
import { instanceKey, noInstanceError, plannerOf, servedInstances, standInsOf } from '@spock/client/integrations';
import type { Clock, TimerHandle } from '@spock/protocol/internal';

import type { EndpointGroup } from './group-balancer.ts';
import type { GrpcModule } from './grpc-module.ts';
import type { InstancePlace } from './spock-load-balancer.ts';

interface Endpoint {
	addresses: { host: string; port: number }[];
}

/** Where the instances of a service are, or why there are none to call. */
export interface ServiceAddresses {
	/** Equal for what is the same to a channel. */
	readonly key: string;
	/** Each instance by its address, as grpc-js writes addresses. */
	readonly instances: ReadonlyMap<string, InstancePlace>;
	/** Of the groups with a share. */
	readonly endpoints: Endpoint[];
	readonly groups: readonly EndpointGroup[];
	readonly unavailable: SpockError | undefined;
}

/** Instances with a share of the calls, as in {@link EndpointGroup}. */
export interface InstanceGroup extends Pick<EndpointGroup, 'key' | 'share'> {
	readonly instances: readonly InstancePlace[];
}

/** All of them in one group. */
function oneGroup(instances: readonly InstancePlace[]): readonly InstanceGroup[] {
	return [{ key: '', share: 1, instances }];
}

/** The groups in which a Diplomat shares out the calls of a service: by its zone and its subsets, which gRPC's own policies do not know. */
export function groupsOf(
	diplomat: Diplomat,
	query: ServiceQuery,
	snapshot: ServiceSnapshot,
): (serving: readonly ServiceInstance[]) => readonly InstanceGroup[] {
	return (serving) => {
		// The policies of gRPC count each instance as one.
		const plan = plannerOf(diplomat)?.plan(query, snapshot, serving, 'round-robin');
		if (plan === undefined) return oneGroup(serving);
		const groups = plan.groups.map(({ share, instances }) => {
			return { key: plan.zones === undefined ? '' : JSON.stringify([instances[0]?.zone]), share, instances };
		});
		const standIns = standInsOf(plan);
		return standIns.length === 0 ? groups : [...groups, { key: 'stand-ins', share: 0, instances: standIns }];
	};
}

/**
 * The addresses of the instances that get work. Two instances at one address are one endpoint.
 *
 * @param ejectedAmong Those of the given instances that get none because calls to them failed.
 * @param grouped How the calls are shared out among the others. Default: all are one group.
 */
export function addressesOf(
	grpc: GrpcModule,
	snapshot: ServiceSnapshot,
	ejectedAmong: (instances: readonly InstancePlace[]) => ReadonlySet<InstancePlace>,
	grouped: (serving: readonly ServiceInstance[]) => readonly InstanceGroup[] = oneGroup,
): ServiceAddresses {
	const served = servedInstances(snapshot);
	const ejected = ejectedAmong(served);
	const instances = new Map<string, InstancePlace>();
	const groups: EndpointGroup[] = [];
	// An instance that was replaced by another at its address must be reported under its new name.
	const keys: unknown[] = [];
	for (const { key, share, instances: members } of grouped(served.filter((one) => !ejected.has(one)))) {
		const endpoints: Endpoint[] = [];
		const names: string[][] = [];
		for (const one of members) {
			const { host, port } = one;
			const address = { host, port };
			const name = grpc.experimental.subchannelAddressToString(address);
			if (instances.has(name)) continue;
			instances.set(name, one);
			endpoints.push({ addresses: [address] });
			names.push([name, one.instance]);
		}
		if (endpoints.length === 0) continue;
		groups.push({ key, share, endpoints });
		keys.push([key, share, names.sort()]);
	}
	const endpoints = groups.flatMap((group) => (group.share > 0 ? (group.endpoints as Endpoint[]) : []));
	if (endpoints.length === 0) return noAddresses(reasonFor(snapshot));
	return { key: JSON.stringify(keys), instances, endpoints, groups, unavailable: undefined };
}

/** No addresses, for a reason. */
export function noAddresses(reason: SpockError): ServiceAddresses {
	return {
		key: `${reason.code}: ${reason.message}`,
		instances: new Map(),
		endpoints: [],
		groups: [],
		unavailable: reason,
	};
}

/** Without its age, which would make each snapshot a new reason while the sidecar is away. */
function reasonFor(snapshot: ServiceSnapshot): SpockError {
	return noInstanceError({ ...snapshot, source: 'live', ageMs: 0 });
}

/** The channel on which the Diplomat reports ejections. */
const EJECTION_CHANNEL = 'spock:client:ejection';

/** What {@link Ejections} needs and reports. */
export interface EjectionsOptions {
	readonly diplomat: Diplomat;
	/** Of its instances; another service may have some of the same names, or at the same addresses. */
	readonly query: ServiceQuery;
	readonly clock: Clock;
	/** An instance was ejected, or may come back. */
	changed(): void;
}

/** Which instances the Diplomat has ejected because calls to them failed, and when one may come back. */
export class Ejections {
	readonly #options: EjectionsOptions;
	#timer: TimerHandle | undefined;

	constructor(options: EjectionsOptions) {
		this.#options = options;
		subscribe(EJECTION_CHANNEL, options.changed);
	}

	/** Those of these instances that get no calls now. It is asked again when one of them may come back. */
	among(instances: readonly InstancePlace[]): ReadonlySet<InstancePlace> {
		const { diplomat, query, clock, changed } = this.#options;
		const { ejected, ejectedPercentMax } = diplomat.status();
		const leftMsOf = new Map(ejected.map((one) => [instanceKey(one, one), one.leftMs]));
		const out = instances.flatMap((one) => {
			const leftMs = leftMsOf.get(instanceKey(query, one));
			return leftMs === undefined ? [] : [{ one, leftMs }];
		});
		clock.clearTimeout(this.#timer);
		this.#timer = undefined;
		if (out.length === 0) return new Set();
		const backMs = Math.min(...out.map(({ leftMs }) => leftMs));
		this.#timer = clock.setTimeout(changed, Math.max(1, Math.ceil(backMs)));
		this.#timer.unref?.();
		// Those that come back last are out, and never more than a share: a service whose every instance fails is still called.
		const sorted = out.toSorted((left, right) => right.leftMs - left.leftMs);
		const outMax = Math.floor((instances.length * ejectedPercentMax) / 100);
		return new Set(sorted.slice(0, outMax).map(({ one }) => one));
	}

	stop(): void {
		unsubscribe(EJECTION_CHANNEL, this.#options.changed);
		this.#options.clock.clearTimeout(this.#timer);
	}
}
