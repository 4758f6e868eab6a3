import type {
	BackendStatus,
	CallOptions,
	KeyEntry,
	KeyQuery,
	ServiceInstance,
	ServiceListEntry,
	ServiceQuery,
} from '@spock/protocol';
import { booleanOption, oneOfOption, type QueryMemberName, queryMembers } from '@spock/protocol/internal';

import type { AgedList, Backend, BackendObserver, BackendWatch } from '../../foundation/backend.ts';
import type { PlacedRegistrar } from '../../registration/places/placed-registrar.ts';
import { isGrantedSomething, refuseIfDenied, refuseIfListDenied } from './acl-check.ts';
import { quote } from './client/consul-call.ts';
import type { ConsulQuestion } from './client/consul-client.ts';
import { refuseUnaskable, withRight } from './client/consul-error.ts';
import type { ConsulBackendOptions } from './consul-backend-options.ts';
import { consulRegistrar } from './consul-registrar.ts';
import { noLeaderIn } from './http/address-health.ts';
import { ConsulHttp, LIVE_AGE_MS_MAX } from './http/consul-http.ts';
import type { HeldPlace } from './http/held-room.ts';
import { watchConsulKey } from './watches/consul-keys.ts';
import { taggedAddresses } from './watches/health-entry.ts';
import { whileMoving } from './watches/node-loss.ts';
import { type InstancesAnswer, readAnsweredInstances, readAnsweredServices } from './watches/read-answer.ts';
import { RestoreWatches } from './watches/restore-watch.ts';
import { type FetchInstances, ServiceWatches } from './watches/service-watches.ts';
import { type ConsulWatch, WatchRecovery } from './watches/watch-recovery.ts';

/**
 * Services from Consul's HTTP API, over any of the given addresses: a blocking query for each question while there is room for them,
 * and a poll for the rest. Throws a TypeError or RangeError naming the option that is wrong, or an Error if a TLS file cannot be read.
 */
export function consulBackend(options: ConsulBackendOptions = {}): Backend {
	return new ConsulBackend(options);
}

class ConsulBackend implements Backend {
	readonly name = 'consul';
	readonly registrar: PlacedRegistrar;
	readonly #options: ConsulBackendOptions;
	readonly #http: ConsulHttp;
	readonly #watches: ServiceWatches;
	readonly #recovery: WatchRecovery;
	readonly #keyWatches = new Set<ConsulWatch>();
	readonly #endListening: readonly (() => void)[];

	constructor(options: ConsulBackendOptions) {
		const { cached = false, taggedAddress, consistency } = options;
		if (booleanOption('cached', cached) && consistency === 'consistent') {
			throw new TypeError('cached cannot be combined with consistency "consistent": Consul refuses it');
		}
		if (taggedAddress !== undefined) oneOfOption('taggedAddress', taggedAddress, taggedAddresses);
		this.#options = options;
		this.#http = options.http ?? new ConsulHttp(options);
		const restores = new RestoreWatches(this.#http);
		this.registrar = consulRegistrar(this.#http, restores);
		this.#recovery = new WatchRecovery(
			this.#http.clock,
			options.random,
			() => this.#http.forgetFailure(),
			() => this.#http.knowsLeader(),
		);
		this.#endListening = [
			this.#http.onTokenReplaced(() => this.#recovery.retry()),
			this.#http.onTimely(() => this.#recovery.confirm()),
		];
		this.#watches = new ServiceWatches({
			...options,
			http: this.#http,
			recovery: this.#recovery,
			restores,
			fetch: (query, place) => this.#fetchOf(query, place),
			parameters: (datacenter) => this.#http.readParameters(datacenter),
		});
	}

	watch(query: ServiceQuery, observer: BackendObserver): BackendWatch {
		this.#http.refuseIfClosed();
		return this.#watches.watch(query, observer);
	}

	/** One query without an index, which no stream, no wait and no index that was believed answers. */
	async read(query: ServiceQuery, options: CallOptions = {}): Promise<readonly ServiceInstance[]> {
		this.#http.refuseIfClosed();
		refuseUnaskable('service', query.service);
		return (await this.#http.call(this.#healthOf(query), options)).value;
	}

	watchKey(query: KeyQuery, observer: BackendObserver<readonly KeyEntry[]>): BackendWatch {
		this.#http.refuseIfClosed();
		const watch = watchConsulKey(this.#http, this.#recovery, query, observer);
		this.#keyWatches.add(watch);
		return {
			retry: () => watch.retry(),
			stop: () => {
				watch.stop();
				this.#keyWatches.delete(watch);
			},
		};
	}

	async list(query: { readonly datacenter?: string }, options: CallOptions = {}): Promise<readonly ServiceListEntry[]> {
		return (await this.listWithAge(query, options)).services;
	}

	/** As old as the server's last contact with its leader: a follower answers on without one. */
	async listWithAge(query: { readonly datacenter?: string }, options: CallOptions = {}): Promise<AgedList> {
		this.#http.refuseIfClosed();
		const { services, mayBeDenied, meta } = await this.#http.call(
			{
				parameters: this.#http.readParameters(query.datacenter),
				send: (client, common) => client.catalog.service.list(common),
				read: readAnsweredServices,
			},
			options,
		);
		if (mayBeDenied) await refuseIfListDenied(this.#http, query.datacenter, options);
		const { ageMs } = meta;
		return { services, ageMs, isLive: ageMs <= LIVE_AGE_MS_MAX };
	}

	async mayRead(options: CallOptions = {}): Promise<boolean> {
		return isGrantedSomething(this.#http, options);
	}

	/**
	 * A question that Consul refuses, such as one for a datacenter that is not there, makes it not `down` while it answers others. A
	 * token that it does not know counts for all: a query that is merely held says nothing of it.
	 */
	status(): BackendStatus {
		const status = this.#http.status();
		const isOthersFault = this.#recovery.isSomeWell && !this.#http.isTokenUnknown;
		// A server without a leader answers on, and nothing that it answers is current.
		const noLeader = this.#http.isTokenUnknown ? undefined : noLeaderIn(status.addressStatus ?? []);
		if (noLeader !== undefined) return { ...status, state: 'down', error: noLeader };
		return status.state === 'down' && isOthersFault ? { ...status, state: 'up', error: null } : status;
	}

	async close(): Promise<void> {
		this.registrar.close();
		this.#watches.stop();
		for (const watch of this.#keyWatches) watch.stop();
		this.#keyWatches.clear();
		for (const end of this.#endListening) end();
		// A connection that was given is its giver's to close.
		if (this.#options.http === undefined) await this.#http.close();
	}

	/** An empty answer is asked about once, where Consul would not say that it is a denial. */
	#fetchOf(query: ServiceQuery, place: () => HeldPlace | undefined): FetchInstances {
		const fetch = whileMoving(this.#http.blocking(this.#healthOf(query), place), this.#http.clock);
		let before: readonly ServiceInstance[] = [];
		let isKnownEmpty = false;
		return async (index, signal) => {
			refuseUnaskable('service', query.service);
			const answer = await fetch(index, signal).catch((error: unknown) => {
				throw withRight(error, `service:read for ${JSON.stringify(query.service)} and node:read for its nodes`);
			});
			if (answer.mayBeDenied && !isKnownEmpty) await refuseIfDenied(this.#http, query, before, signal);
			before = answer.value;
			isKnownEmpty = before.length === 0;
			return answer;
		};
	}

	/** Asks for all instances, judging health here: `passing=true` filters after the agent has blocked, and drops warnings. */
	#healthOf(query: ServiceQuery): ConsulQuestion<InstancesAnswer> {
		const { service, datacenter, tags = [] } = query;
		const { cached = false, taggedAddress } = this.#options;
		return {
			parameters: {
				...this.#http.readParameters(datacenter),
				...parametersOf(query),
				...(cached && { cached: '' }),
			},
			send: (client, common) => client.health.service({ ...common, service }),
			read: (response, body) => {
				const answer = readAnsweredInstances(response, body, taggedAddress);
				if (tags.length === 0) return answer;
				// Consul compares tags without regard to case.
				return { ...answer, value: answer.value.filter(({ tags: own }) => tags.every((tag) => own.includes(tag))) };
			},
		};
	}
}

/** Parameters of a question; of several expressions for `filter` all must hold. */
interface QueryParameters {
	readonly tag?: readonly string[];
	readonly peer?: string;
	readonly filter?: readonly string[];
}

/**
 * How Consul is asked for each member of a query.
 * Source: https://developer.hashicorp.com/consul/api-docs/health#list-service-instances-for-a-service and …/api-docs/features/filtering
 */
const PARAMETERS: { readonly [M in QueryMemberName]: (value: NonNullable<ServiceQuery[M]>) => QueryParameters } = {
	tags: (tag) => ({ tag }),
	// Part of every call to Consul.
	datacenter: () => ({}),
	meta: (meta) => ({
		filter: Object.entries(meta).map(([name, value]) => `Service.Meta[${quote(name)}] == ${quote(value)}`),
	}),
	peer: (peer) => ({ peer }),
};

function parametersOf(query: ServiceQuery): object {
	const asked = queryMembers.map(({ name, of }): QueryParameters => {
		const value = of(query);
		return value === undefined ? {} : PARAMETERS[name](value as never);
	});
	const filter = asked.flatMap((parameters) => parameters.filter ?? []).join(' and ');
	const { filter: _filter, ...others }: QueryParameters = Object.assign({}, ...asked);
	return { ...others, ...(filter !== '' && { filter }) };
}
