import type { ServiceQuery } from '@spock/protocol';

import type { AgentCheck, AgentService } from './consul-direct.ts';
import {
	type Change,
	deregister,
	faultsOf,
	type Machine,
	type Planned,
	put,
	setHealth,
	switchCheck,
} from './planned-instance.ts';
import {
	ADDRESSES,
	BAD_ADDRESSES,
	BAD_PORTS,
	CHECK_IDS,
	FULL_META,
	INSTANCES_MAX,
	META_NAMES,
	META_VALUES,
	ODD_SERVICES,
	PORTS,
	STATUSES,
	seeded,
	TAGS,
} from './workload-values.ts';

/** What happens to the registry, by a seed alone: the same seed makes the same changes in the same order. */
export class RegistryWorkload {
	readonly services: readonly string[];
	readonly #draw: () => number;
	readonly #planned = new Map<string, Planned>();
	readonly #machines = [0, 1, 2].map((at): Machine => {
		return { id: `00000000-0000-4000-8000-00000000000${at}`, name: `ext-${at}` };
	});
	#numbers = 0;
	#isAgentDown = false;

	constructor(seed: number, services: number) {
		this.#draw = seeded(seed);
		const odd = ODD_SERVICES.slice(0, Math.floor(services / 2));
		this.services = [
			...odd,
			...Array.from({ length: services - odd.length }, (_, at) => `svc-${String(at).padStart(3, '0')}`),
		];
	}

	/** Three instances of each service. */
	start(): Change[] {
		return this.services.flatMap((service) => [1, 2, 3].map(() => this.#register(service)));
	}

	/** The condition that is asked for beside the service alone. */
	tagOf(service: string): string {
		return TAGS[this.services.indexOf(service) % (TAGS.length - 1)] as string;
	}

	metaOf(service: string): Readonly<Record<string, string>> {
		const at = this.services.indexOf(service);
		// Its own member, also where it is called __proto__.
		return Object.fromEntries([[META_NAMES[at % META_NAMES.length] as string, META_VALUES[at % 2] as string]]);
	}

	/** All questions about a service. */
	questionsOf(service: string): readonly ServiceQuery[] {
		return [{ service }, { service, tags: [this.tagOf(service)] }, { service, meta: this.metaOf(service) }];
	}

	/** One to ten changes in a row, and what to wait after each, in milliseconds. */
	burst(): (Change & { readonly pauseMs: number })[] {
		const count = 1 + Math.floor(this.#draw() * 10);
		const paces = [0, 0, 20, 200];
		const paceMs = this.#pick(paces);
		return Array.from({ length: count }, () => ({ ...this.#change(), pauseMs: Math.floor(this.#draw() * paceMs) }));
	}

	/** What differs at the agent from what this workload has there: others may write nothing of it. */
	faultsAtAgent(services: Readonly<Record<string, AgentService>>, checks: readonly AgentCheck[]): readonly string[] {
		const own = [...this.#planned.values()].filter(({ node }) => node === 'agent');
		const maintained = checks.some(({ CheckID }) => CheckID === '_node_maintenance');
		return [
			...(maintained === this.#isAgentDown ? [] : [`node maintenance: ${maintained}`]),
			...own.flatMap((one) => faultsOf(one, services, checks)),
		];
	}

	#change(): Change {
		const service = this.#pick(this.services);
		const known = [...this.#planned.values()].filter((one) => one.service === service);
		const kind = this.#draw();
		const one = known[Math.floor(this.#draw() * known.length)];
		if (one === undefined || (kind < 0.25 && known.length < INSTANCES_MAX)) return this.#register(service);
		if (kind < 0.4) return this.#deregister(one);
		if (kind < 0.58) return this.#setHealth(one);
		if (kind < 0.74) return this.#edit(one);
		if (kind < 0.81) return this.#breakOne(one);
		if (kind < 0.88) return this.#check(one);
		if (kind < 0.91) return this.#rename(one);
		if (kind < 0.92) return this.#renameMachine(this.#pick(this.#machines));
		if (kind < 0.97) return this.#maintain(one);
		if (kind < 0.98) return this.#empty(service, known);
		return this.#maintainNode();
	}

	#register(service: string): Change {
		const number = ++this.#numbers;
		const node = this.#draw() < 0.5 ? 'agent' : this.#pick(this.#machines);
		const oddity = this.#pick(['', '', '-__proto__', '-a b', '-ä', '/x']);
		const planned: Planned = {
			service,
			id: `${this.services.indexOf(service)}.${number}${oddity}`,
			node,
			address: this.#pick(ADDRESSES),
			port: this.#pick(PORTS),
			tags: this.#tags(service),
			meta: this.#meta(service),
			status: this.#pick(STATUSES),
			further: undefined,
			inMaintenance: false,
		};
		this.#planned.set(planned.id, planned);
		return put('register', planned);
	}

	#edit(one: Planned): Change {
		one.tags = this.#tags(one.service);
		one.meta = this.#meta(one.service);
		return put('edit', one);
	}

	/** An entry that nobody can send work to: Consul takes it. Half of them are broken by their address, at the catalog. */
	#breakOne(one: Planned): Change {
		if (one.node !== 'agent' && this.#draw() < 0.5) return put('break', { ...one, address: this.#pick(BAD_ADDRESSES) });
		return put('break', { ...one, port: this.#pick(BAD_PORTS) });
	}

	/** The same id as an instance of another service. */
	#rename(one: Planned): Change {
		const from = one.service;
		one.service = this.#pick(this.services);
		const change = put(`from ${from} to`, one);
		return { ...change, services: [from, one.service], mayEmpty: true };
	}

	/** Consul takes out all that a machine of another name had; then its instances are registered there. */
	#renameMachine(machine: Machine): Change {
		const from = machine.name;
		machine.name = `${from.slice(0, 5)}-${++this.#numbers}`;
		const own = [...this.#planned.values()].filter(({ node }) => node === machine);
		for (const one of own) one.further = undefined;
		const puts = own.map((one) => put('register', one));
		const body = { Node: machine.name, ID: machine.id, Address: '10.255.0.9' };
		return {
			what: `rename ${from} to ${machine.name}`,
			mayEmpty: true,
			services: [...new Set(own.map(({ service }) => service))],
			apply: async (consul) => {
				await consul.put('/v1/catalog/register', body);
				for (const put of puts) await put.apply(consul);
			},
		};
	}

	/** Another program gives an instance a critical check, or takes it away. */
	#check(one: Planned): Change {
		const checkId = one.further ?? this.#pick(CHECK_IDS)(one.id);
		const isAdded = one.further === undefined;
		one.further = isAdded ? checkId : undefined;
		return switchCheck(one, checkId, isAdded);
	}

	#setHealth(one: Planned): Change {
		one.status = this.#pick(STATUSES);
		return setHealth(one);
	}

	#deregister(one: Planned): Change {
		this.#planned.delete(one.id);
		return deregister(`deregister ${one.id}`, [one]);
	}

	/** All instances of a service at once. */
	#empty(service: string, known: readonly Planned[]): Change {
		for (const { id } of known) this.#planned.delete(id);
		return deregister(`empty ${service}`, known);
	}

	#maintain(one: Planned): Change {
		if (one.node !== 'agent') return this.#setHealth(one);
		one.inMaintenance = !one.inMaintenance;
		const path = `/v1/agent/service/maintenance/${encodeURIComponent(one.id)}?enable=${one.inMaintenance}`;
		return {
			what: `maintenance ${one.inMaintenance} ${one.id} of ${one.service}`,
			services: [one.service],
			apply: (consul) => consul.put(path),
		};
	}

	/** All of the agent's own instances at once. */
	#maintainNode(): Change {
		this.#isAgentDown = !this.#isAgentDown;
		const path = `/v1/agent/maintenance?enable=${this.#isAgentDown}&reason=oracle`;
		return {
			what: `node maintenance ${this.#isAgentDown}`,
			services: this.services,
			apply: (consul) => consul.put(path),
		};
	}

	#tags(service: string): readonly string[] {
		const tags = TAGS.filter(() => this.#draw() < 0.2);
		return this.#draw() < 0.5 ? [...new Set([...tags, this.tagOf(service)])] : tags;
	}

	#meta(service: string): Readonly<Record<string, string>> {
		const members = META_NAMES.filter(() => this.#draw() < 0.3).map((name) => [name, this.#pick(META_VALUES)]);
		const asked = this.#draw() < 0.5 ? Object.entries(this.metaOf(service)) : [];
		const full = this.#draw() < 0.02 ? FULL_META : [];
		return Object.fromEntries([...full, ...members, ...asked]) as Record<string, string>;
	}

	#pick<T>(choices: readonly T[]): T {
		return choices[Math.floor(this.#draw() * choices.length)] as T;
	}
}
