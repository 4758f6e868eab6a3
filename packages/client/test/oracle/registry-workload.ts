import type { ServiceQuery } from '@spock/protocol';

import type { ConsulDirect } from './consul-direct.ts';

/** Numbers from a seed: mulberry32, by Tommy Ettinger. */
export function seeded(seed: number): () => number {
	let state = seed >>> 0;
	return () => {
		state = (state + 0x6d2b79f5) >>> 0;
		let mixed = Math.imul(state ^ (state >>> 15), state | 1);
		mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
		return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
	};
}

/** One instance of the model: what the workload last said of it. */
interface Planned {
	readonly service: string;
	readonly id: string;
	/** An agent's own instance, or one of the catalog on a machine without an agent. */
	readonly node: 'agent' | string;
	readonly address: string;
	port: number;
	tags: readonly string[];
	meta: Readonly<Record<string, string>>;
	inMaintenance: boolean;
}

/** One change of the registry, and the services that it is about. */
export interface Change {
	readonly what: string;
	readonly services: readonly string[];
	/** True where nothing may be left of a service after it. */
	readonly mayEmpty?: boolean;
	apply(consul: ConsulDirect): Promise<void>;
}

/** Machines without an agent. */
const NODES = ['ext-0', 'ext-1', 'ext-2'];
/** Names that Consul takes and answers for, and that look like something else. */
const ODD_SERVICES = [
	'__proto__',
	'constructor',
	'a b',
	'ä',
	'["v1"]',
	'a,b',
	'a%2Fb',
	'a?dc=x',
	'=config/0',
	'a"b',
	'日本',
	'a/b',
];
const TAGS = [
	'v1',
	'v2',
	'a b',
	'["v1"]',
	'__proto__',
	'constructor',
	"x' or '1'=='1",
	'a"b',
	'a\\b',
	'ä',
	'a,b',
	'%',
	'',
];
/** Names of metadata are of letters, digits, - and _ at Consul. */
const META_NAMES = ['rack', '__proto__', 'constructor', 'a-b'];
const META_VALUES = ['b', 'b7', '', 'a b', '"', '\\', "' or '1'=='1", 'ä', '["b"]'];
const STATUSES = ['passing', 'passing', 'warning', 'critical'];
const BAD_PORTS = [70_000, -1, 65_536, 2_147_483_647];
const BAD_ADDRESSES = ['10.0.0.1\r\nX-Evil: 1', 'a b', '\u001b[2J', '10.0.0.1\n'];
const INSTANCES_MAX = 6;
/** Several services share an address and a port, and some an address alone. */
const ADDRESSES = ['10.0.0.1', '10.0.0.2', 'app.example', '::1', ''];
const PORTS = [8080, 8080, 9090, 1, 65_535];

/** What happens to the registry, by a seed alone: the same seed makes the same changes in the same order. */
export class RegistryWorkload {
	readonly services: readonly string[];
	readonly #draw: () => number;
	readonly #planned = new Map<string, Planned>();
	#numbers = 0;
	#isAgentDown = false;

	constructor(seed: number, services: number) {
		this.#draw = seeded(seed);
		const odd = ODD_SERVICES.slice(0, Math.floor(services / 3));
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

	/** Ends what would keep everything ill: after it only the services themselves count. */
	#change(): Change {
		const service = this.#pick(this.services);
		const known = [...this.#planned.values()].filter((one) => one.service === service);
		const kind = this.#draw();
		const one = known[Math.floor(this.#draw() * known.length)];
		if (one === undefined || (kind < 0.25 && known.length < INSTANCES_MAX)) return this.#register(service);
		if (kind < 0.4) return this.#deregister(one);
		if (kind < 0.65) return this.#setHealth(one);
		if (kind < 0.83) return this.#edit(one);
		if (kind < 0.9) return this.#breakOne(one);
		if (kind < 0.95) return this.#maintain(one);
		if (kind < 0.97) return this.#empty(service, known);
		return this.#maintainNode();
	}

	#register(service: string): Change {
		const number = ++this.#numbers;
		const node = this.#draw() < 0.5 ? 'agent' : this.#pick(NODES);
		const oddity = this.#pick(['', '', '-__proto__', '-a b', '-ä', '/x']);
		const planned: Planned = {
			service,
			id: `${this.services.indexOf(service)}.${number}${oddity}`,
			node,
			address: this.#pick(ADDRESSES),
			port: this.#pick(PORTS),
			tags: this.#tags(service),
			meta: this.#meta(service),
			inMaintenance: false,
		};
		this.#planned.set(planned.id, planned);
		return this.#put('register', planned);
	}

	#edit(one: Planned): Change {
		one.tags = this.#tags(one.service);
		one.meta = this.#meta(one.service);
		return this.#put('edit', one);
	}

	/** An entry that nobody can send work to: Consul takes it. Half of them are broken by their address, at the catalog. */
	#breakOne(one: Planned): Change {
		if (one.node !== 'agent' && this.#draw() < 0.5)
			return this.#put('break', { ...one, address: this.#pick(BAD_ADDRESSES) });
		return this.#put('break', { ...one, port: this.#pick(BAD_PORTS) });
	}

	#put(what: string, { service, id, node, address, port, tags, meta }: Planned): Change {
		const Weights = { Passing: 1 + (port % 3), Warning: 1 };
		const status = this.#pick(STATUSES);
		const common = { Address: address, Port: port, Tags: tags, Meta: meta, Weights };
		return {
			what: `${what} ${id} of ${service} at ${node}`,
			mayEmpty: what === 'break',
			services: [service],
			apply: (consul) =>
				node === 'agent'
					? consul.put('/v1/agent/service/register', {
							...{ ID: id, Name: service, ...common },
							Check: { CheckID: `c-${id}`, Name: 'c', TTL: '60m', Status: status },
						})
					: consul.put('/v1/catalog/register', {
							...{ Node: node, Address: '10.255.0.9', SkipNodeUpdate: what === 'edit' },
							Service: { ID: id, Service: service, ...common },
							Check: { Node: node, CheckID: `c-${node}-${id}`, Name: 'c', ServiceID: id, Status: status },
						}),
		};
	}

	#setHealth({ service, id, node }: Planned): Change {
		const status = this.#pick(STATUSES);
		return {
			what: `${status} ${id} of ${service}`,
			services: [service],
			apply: (consul) =>
				node === 'agent'
					? consul.put(`/v1/agent/check/update/${encodeURIComponent(`c-${id}`)}`, { Status: status })
					: consul.put('/v1/catalog/register', {
							...{ Node: node, Address: '10.255.0.9', SkipNodeUpdate: true },
							Check: { Node: node, CheckID: `c-${node}-${id}`, Name: 'c', ServiceID: id, Status: status },
						}),
		};
	}

	#deregister(one: Planned): Change {
		this.#planned.delete(one.id);
		return {
			what: `deregister ${one.id} of ${one.service}`,
			mayEmpty: true,
			services: [one.service],
			apply: (consul) => deregister(consul, one),
		};
	}

	/** All instances of a service at once. */
	#empty(service: string, known: readonly Planned[]): Change {
		for (const { id } of known) this.#planned.delete(id);
		return {
			what: `empty ${service}`,
			mayEmpty: true,
			services: [service],
			apply: async (consul) => {
				for (const one of known) await deregister(consul, one);
			},
		};
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
		return Object.fromEntries([...members, ...asked]) as Record<string, string>;
	}

	#pick<T>(choices: readonly T[]): T {
		return choices[Math.floor(this.#draw() * choices.length)] as T;
	}
}

function deregister(consul: ConsulDirect, { node, id }: Planned): Promise<void> {
	return node === 'agent'
		? consul.put(`/v1/agent/service/deregister/${encodeURIComponent(id)}`)
		: consul.put('/v1/catalog/deregister', { Node: node, ServiceID: id });
}
