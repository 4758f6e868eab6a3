import type { KeyEntry, ServiceInstance } from '@spock/protocol';
import { BROKEN_HOSTS, BROKEN_PORTS } from '@spock/testkit/hostile';

import { type ItemVersion, RegistryItem } from './registry-item.ts';
import type { Scheduler } from './scheduler.ts';
import type { SeededRandom } from './seeded-random.ts';

/** How the registry behaves now. `lies empty`: it answers everything with nothing, as without a token under default deny. */
export type RegistryMode = 'well' | 'hangs' | 'answers 500' | 'refuses' | 'denies' | 'lies empty';

/** An instance that an app registered through a sidecar. */
export interface RegisteredInstance {
	readonly service: string;
	readonly port: number;
	readonly owner: string;
	status: string;
}

/** How services look in a world. */
export interface RegistryShape {
	/** Their names: ordinary ones, or such as are mistaken for something else. */
	readonly services: readonly string[];
	readonly keys: readonly string[];
	/** Whether answers have entries among them of which nobody can make an instance. */
	readonly hasBroken: boolean;
	readonly instancesMax: number;
	/** Characters of metadata of each instance: large ones make pushes that do not fit into a buffer. */
	readonly metaLength: number;
}

/** As long as an asker waits for an answer, in milliseconds. */
const HUNG_MS = 13_000;
const TAGS = ['blue', 'green', 'canary'];
/** Entries as a registry takes them from anybody: a port that there is not, a host that ends a header, numbers for texts. */
const BROKEN_ENTRIES: readonly Record<string, unknown>[] = [
	...BROKEN_PORTS.map((port) => ({ port })),
	...BROKEN_HOSTS.map((host) => ({ host })),
	{ instance: null },
	{ tags: 'blue' },
	{ meta: { color: 5 } },
];

/** The registry of one world, and the whole truth about it. */
export class SimRegistry {
	mode: RegistryMode = 'well';
	/** How often it has changed. */
	modeTurns = 0;
	#hungUntilMs = Number.NEGATIVE_INFINITY;
	/** How long a way takes, in milliseconds. */
	latencyMsMin = 0.2;
	latencyMsMax = 4;
	readonly services: Map<string, RegistryItem<readonly ServiceInstance[]>> = new Map();
	readonly keys: Map<string, RegistryItem<readonly KeyEntry[]>> = new Map();
	readonly registered: Map<string, RegisteredInstance> = new Map();
	/** Names that were asked for and are nobody's. */
	readonly #unknown = new Map<string, RegistryItem<readonly ServiceInstance[]>>();
	readonly #scheduler: Scheduler;
	readonly #random: SeededRandom;
	readonly #shape: RegistryShape;
	readonly #told = new WeakMap<readonly ServiceInstance[], readonly ServiceInstance[]>();
	#hasStranger = false;
	#numbers = 0;
	#index = 100;
	/** Modes that ever were: what a caller may have been told. */
	readonly modesSeen: Set<RegistryMode> = new Set(['well']);

	constructor(scheduler: Scheduler, random: SeededRandom, shape: RegistryShape) {
		this.#scheduler = scheduler;
		this.#random = random;
		this.#shape = shape;
		for (const name of shape.services) {
			this.services.set(
				name,
				new RegistryItem(
					name,
					this.#version((at) => this.#instances(name, at)),
				),
			);
		}
		for (const key of shape.keys) {
			this.keys.set(
				key,
				new RegistryItem(
					key,
					this.#version((at) => this.#entry(key, at)),
				),
			);
		}
	}

	get serviceNames(): string[] {
		return [...this.services.keys()];
	}

	get keyNames(): string[] {
		return [...this.keys.keys()];
	}

	/** What is asked for by a name that nothing has: it stays empty. */
	unknown(name: string): RegistryItem<readonly ServiceInstance[]> {
		let item = this.#unknown.get(name);
		if (item === undefined) {
			item = new RegistryItem(
				name,
				this.#version(() => Object.freeze([])),
			);
			this.#unknown.set(name, item);
		}
		return item;
	}

	/** Queries of all things that wait for a change. */
	get heldQueries(): number {
		const items = [...this.services.values(), ...this.keys.values(), ...this.#unknown.values()];
		return items.reduce((sum, one) => sum + one.heldQueries, 0);
	}

	/** The number of a service: its instances' hosts have it. */
	numberOf(service: string): number {
		return this.#shape.services.indexOf(service);
	}

	/** Time on the way, to or from it. */
	latencyMs(random: SeededRandom = this.#random): number {
		return this.latencyMsMin + random.unit() * (this.latencyMsMax - this.latencyMsMin);
	}

	/** Other instances for a service, or another value for a key. */
	changeOne(): string {
		const name = this.#random.pick([...this.serviceNames, ...this.keyNames]);
		const service = this.services.get(name);
		service?.change(
			this.#version((at) => this.#instances(name, at)),
			++this.#index,
		);
		this.keys.get(name)?.change(
			this.#version((at) => this.#entry(name, at)),
			++this.#index,
		);
		return name;
	}

	/** Nothing is left of a service, and that is true. */
	emptyOne(): string {
		const name = this.#random.pick(this.serviceNames);
		this.services.get(name)?.change(
			this.#version(() => Object.freeze([])),
			++this.#index,
		);
		return name;
	}

	/** A restored server: every index is lower, and a service may be as it was long ago. */
	moveIndexBack(): void {
		this.#index = Math.max(1, Math.floor(this.#index * this.#random.unit()));
		for (const item of [...this.services.values(), ...this.keys.values()]) {
			item.index = Math.max(1, Math.min(item.index, this.#random.between(1, this.#index)));
		}
	}

	/** A query that was sent while it hung may hang still: it ends by its own deadline alone. */
	get hasHungLately(): boolean {
		return this.mode === 'hangs' || this.#scheduler.nowMs < this.#hungUntilMs;
	}

	setMode(mode: RegistryMode): void {
		if (this.mode === 'hangs') this.#hungUntilMs = this.#scheduler.nowMs + HUNG_MS;
		this.mode = mode;
		this.modeTurns++;
		this.modesSeen.add(mode);
		for (const item of [...this.services.values(), ...this.keys.values()]) item.wake();
	}

	/** Forgets what these have registered, as an agent that lost its state does. */
	forgetRegistered(owners: readonly string[], chance: number): number {
		let count = 0;
		for (const [id, { owner }] of [...this.registered]) {
			if (!owners.includes(owner) || !this.#random.chance(chance)) continue;
			this.registered.delete(id);
			count++;
		}
		return count;
	}

	#version<V>(make: (number: number) => V): ItemVersion<V> {
		const number = ++this.#numbers;
		return { number, value: make(number), fromMs: this.#scheduler.nowMs };
	}

	/** From now on an entry of nobody's is among all answers, of which nothing says that it is broken. */
	addStranger(): void {
		this.#hasStranger = true;
	}

	/** What is answered of an instances list: the same, or with broken entries among them. */
	toldOf(instances: readonly ServiceInstance[]): readonly ServiceInstance[] {
		if (instances.length === 0) return instances;
		if (!this.#shape.hasBroken && !this.#hasStranger) return instances;
		let told = this.#told.get(instances);
		if (told === undefined) {
			const at = instances.length % BROKEN_ENTRIES.length;
			const stranger = { ...instances[0], instance: 'stranger/0', host: 'stranger' } as ServiceInstance;
			const broken = [0, 1].map((more) => {
				const entry = BROKEN_ENTRIES[(at + Number(instances[0]?.meta['version']) + more) % BROKEN_ENTRIES.length];
				return Object.freeze({ ...instances[0], instance: `broken/${more}`, ...entry }) as ServiceInstance;
			});
			told = Object.freeze([...(this.#hasStranger ? [Object.freeze(stranger)] : broken), ...instances]);
			this.#told.set(instances, told);
		}
		return told;
	}

	/** Every instance says whose it is, and of which state: an answer that reaches somebody else is seen by looking at it. */
	#instances(service: string, version: number): readonly ServiceInstance[] {
		const { instancesMax, metaLength } = this.#shape;
		const count = this.#random.between(1, instancesMax);
		const areAllIll = this.#random.chance(0.04);
		const instances = Array.from({ length: count }, (_, at): ServiceInstance => {
			const status = areAllIll || (at > 0 && this.#random.chance(0.2)) ? 'critical' : 'passing';
			const tags = TAGS.filter(() => this.#random.chance(0.5));
			return Object.freeze({
				// The same names in every service: a name is unique within its own alone.
				instance: `node/${String(at).padStart(2, '0')}`,
				host: `v${version}.i${at}.s${this.numberOf(service)}`,
				port: 10_000 + at,
				weight: this.#random.between(1, 5),
				status,
				tags: Object.freeze(tags),
				meta: Object.freeze({
					version: String(version),
					color: this.#random.chance(0.5) ? 'red' : 'white',
					...(metaLength > 0 && { fill: 'ü'.repeat(metaLength) }),
				}),
				zone: null,
				datacenter: null,
			});
		});
		return Object.freeze(instances);
	}

	#entry(key: string, version: number): readonly KeyEntry[] {
		if (this.#random.chance(0.1)) return Object.freeze([]);
		return Object.freeze([Object.freeze({ key, value: `${key}@${version}` })]);
	}
}
