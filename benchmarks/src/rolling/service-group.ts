import { startLeavingServer } from '../processes.ts';
import type { OwnTools } from '../toolbox.ts';
import type { InstancePorts, InstanceSettings } from './rolling-messages.ts';

/** How long an instance may take to leave after its pause, in milliseconds: more than any request may take. */
const LEAVE_MS_MAX = 40_000;
const ANY_PORTS: InstancePorts = { http: 0, grpc: 0 };

/** How instances are replaced: a new one comes before the old one leaves, or after it, at the same ports. */
export type RestartOrder = 'surge' | 'in-place';

interface Instance {
	readonly ports: InstancePorts;
	/** Which one it is in its place, from 0. */
	readonly generation: number;
	leave(): Promise<void>;
}

/** The instances of a service, each a process of its own, and their rolling restart. */
export class ServiceGroup {
	readonly #node: string;
	readonly #entry: string;
	readonly #settings: Omit<InstanceSettings, 'name' | 'ports'>;
	readonly #instances: Instance[] = [];

	/** Resolves when all are registered. */
	static async start(
		tools: OwnTools,
		size: number,
		settings: Omit<InstanceSettings, 'name' | 'ports'>,
	): Promise<ServiceGroup> {
		const group = new ServiceGroup(tools, settings);
		try {
			for (let place = 0; place < size; place++) group.#instances.push(await group.#start(place, 0, ANY_PORTS));
		} catch (error) {
			await group.close();
			throw error;
		}
		return group;
	}

	private constructor(tools: OwnTools, settings: Omit<InstanceSettings, 'name' | 'ports'>) {
		this.#node = tools.node;
		this.#entry = tools.entry('rolling-instance');
		this.#settings = settings;
	}

	get size(): number {
		return this.#instances.length;
	}

	/** Replaces one instance. Resolves when the new one is registered and the old one has ended. */
	async replace(place: number, order: RestartOrder): Promise<void> {
		const old = this.#instances[place] as Instance;
		const generation = old.generation + 1;
		if (order === 'in-place') {
			await old.leave();
			this.#instances[place] = await this.#start(place, generation, old.ports);
			return;
		}
		this.#instances[place] = await this.#start(place, generation, ANY_PORTS);
		await old.leave();
	}

	/** Ends all. Rejects if one does not leave well. */
	async close(): Promise<void> {
		await Promise.all(this.#instances.splice(0).map((instance) => instance.leave()));
	}

	async #start(place: number, generation: number, ports: InstancePorts): Promise<Instance> {
		const settings: InstanceSettings = { ...this.#settings, name: instanceName(place, generation), ports };
		const command = [this.#node, this.#entry, JSON.stringify(settings)];
		const server = await startLeavingServer(command, settings.preStopMs + LEAVE_MS_MAX);
		return { ports: JSON.parse(server.address) as InstancePorts, generation, leave: () => server.close() };
	}
}

function instanceName(place: number, generation: number): string {
	return `${place}.${generation}`;
}

/** In which place of the group an instance of that name stands or stood. */
export function placeOf(instance: string): number {
	return Number(instance.split('.')[0]);
}
