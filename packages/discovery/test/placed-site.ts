import { SpockError } from '@spock/protocol';
import { FakeClock } from '@spock/testkit';

import type { InstanceDefinition, InstanceHealth, RegistrationTerms } from '../src/foundation/registrar.ts';
import type { RegistrationCatalogue, RegistrationPlace, Sighting } from '../src/foundation/registration-place.ts';
import { PlacedRegistrar } from '../src/registration/places/placed-registrar.ts';

export const terms: RegistrationTerms = { ttlMs: 15_000, deregisterAfterMs: 600_000, owner: 'pod' };
export const passing: InstanceHealth = { status: 'passing', note: '' };
export const b1: InstanceDefinition = {
	id: 'b1',
	service: 'barista',
	host: '10.0.0.1',
	port: 80,
	tags: [],
	meta: {},
	bind: 'connection',
};

/** A node of the registry, with the place at its agent. */
export interface PlacedNode {
	name: string;
	readonly number: number;
	state: 'well' | 'failed' | 'left';
	isReachable: boolean;
	/** What stands there, and whether its time to live has passed. */
	readonly has: Map<string, { definition: InstanceDefinition; isExpired: boolean; maintenance?: string }>;
}

/** Places of one registry, and a registrar over them. */
export interface PlacedSite {
	readonly clock: FakeClock;
	readonly registrar: PlacedRegistrar;
	/** Ids that the registrar has reported as lost. */
	readonly lost: string[];
	readonly writes: string[];
	readonly nodes: readonly [PlacedNode, PlacedNode, PlacedNode];
	/** The services that are watched, by their watches. */
	readonly watchers: ReadonlyMap<() => void, string>;
	publish(): void;
	/** Nothing can be seen in the registry any more. */
	blind(): void;
	/** Nodes that have it. */
	where(): string[];
	/** A registrar of the next process. */
	another(): PlacedRegistrar;
}

/** Places `n0`, `n1`, … of one registry, which publishes what they have unless a node has failed, or has left. */
export function placedSite(count = 3): PlacedSite {
	const clock = new FakeClock();
	const nodes = Array.from(
		{ length: count },
		(_, number): PlacedNode => ({
			...{ name: `n${number}`, number, state: 'well', isReachable: true },
			has: new Map(),
		}),
	);
	const writes: string[] = [];
	const watchers = new Map<() => void, string>();
	let isBlind = false;
	const published = (): Sighting[] =>
		nodes.flatMap(({ name, number, state, has }) =>
			state === 'left'
				? []
				: [...has].map(([id, { definition, isExpired, maintenance }]) => ({
						id,
						node: name,
						nodeHost: `10.9.9.${number}`,
						host: definition.host ?? `10.9.9.${number}`,
						port: definition.port,
						isNodeLost: state === 'failed',
						isServed: state === 'well' && !isExpired,
						...(definition.app !== undefined && { app: definition.app }),
						...(maintenance !== undefined && { maintenance }),
					})),
		);
	const places = nodes.map((node): RegistrationPlace => {
		const reach = (what: string): void => {
			if (!node.isReachable) throw new SpockError('UNAVAILABLE', `${node.name} cannot be reached`);
			writes.push(`${what} at ${node.name}`);
		};
		return {
			register: async (definition, _health, _terms, maintenance) => {
				reach(`register ${definition.id}`);
				node.has.set(definition.id, { definition, isExpired: false, ...(maintenance && { maintenance }) });
				return `${node.name}/${definition.id}`;
			},
			report: async (id) => {
				reach(`report ${id}`);
				if (!node.has.has(id)) throw new SpockError('NO_SUCH_SERVICE', `no ${id}`);
			},
			deregister: async (id, owner) => {
				reach(`deregister ${id} of ${owner}`);
				node.has.delete(id);
			},
			owned: async () => {
				reach('owned');
				return [...node.has].map(([id, { definition }]) => ({
					definition: { ...definition, isPartial: true },
					instance: `${node.name}/${id}`,
					health: passing,
				}));
			},
			nodeOf: async (id) => {
				reach('nodeOf');
				return node.has.has(id) ? node.name : undefined;
			},
			maintenanceOf: (id) => node.has.get(id)?.maintenance,
		};
	});
	const catalogue: RegistrationCatalogue = {
		look: async ({ id }) => {
			if (isBlind) throw new SpockError('ACL_DENIED', 'not for you');
			return published().filter((one) => one.id === id);
		},
		isNodeWell: async (name) => nodes.some((node) => node.name === name && node.state === 'well'),
		nodeHost: async (name) => {
			const node = nodes.find((one) => one.name === name && one.state !== 'left');
			return node && `10.9.9.${node.number}`;
		},
		watch: ({ service }, _avoided, seen) => {
			const look = (): void => seen(published());
			watchers.set(look, service);
			return () => watchers.delete(look);
		},
	};
	const registrar = new PlacedRegistrar({ places, catalogue, clock, random: () => 1 });
	const lost: string[] = [];
	registrar.onLost((id) => lost.push(id));
	return {
		clock,
		registrar,
		lost,
		writes,
		nodes: nodes as [PlacedNode, PlacedNode, PlacedNode],
		watchers,
		publish: () => {
			for (const look of watchers.keys()) look();
		},
		blind: () => {
			isBlind = true;
		},
		where: () => nodes.filter(({ has }) => has.has('b1')).map(({ name }) => name),
		another: () => new PlacedRegistrar({ places, catalogue, clock, random: () => 1 }),
	};
}
