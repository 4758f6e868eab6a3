import type { Duplex } from 'node:stream';

import { FakeClock, memoryPair, settle } from '@spock/testkit';

import { type CreateOptions, createDiplomat } from '../../src/connect.ts';
import type { Diplomat } from '../../src/diplomat.ts';
import type { Events } from '../../src/events/events.ts';
import { type EventsOptions, openEvents } from '../../src/events/open-events.ts';
import { ModelSidecar } from './model-sidecar.ts';

/** A client with events, a model of a sidecar and the time between them, with no socket and no real timer. */
export interface EventSimulation {
	readonly clock: FakeClock;
	readonly sidecar: ModelSidecar;
	readonly diplomat: Diplomat;
	readonly events: Events;
	/** While `away` is true, every attempt to connect fails. */
	readonly network: { away: boolean };
}

interface SimulationOptions extends Omit<EventsOptions, 'diplomat'> {
	readonly sidecar?: ModelSidecar;
	readonly away?: boolean;
	readonly client?: CreateOptions;
}

/** Starts a client; its producer is open when this resolves, unless the sidecar is away. */
export async function simulateEvents({
	sidecar = new ModelSidecar(),
	away = false,
	client = {},
	...options
}: SimulationOptions = {}): Promise<EventSimulation> {
	const clock = new FakeClock();
	const network = { away };
	const open = (): Duplex => {
		if (network.away) throw Object.assign(new Error('connect ENOENT'), { code: 'ENOENT', syscall: 'connect' });
		const { near, far } = memoryPair();
		sidecar.accept(far);
		return near;
	};
	const diplomat = createDiplomat({
		...{ path: '/nowhere/simulated.sock', clock, random: () => 0.5, transport: open, heartbeatMs: 1_000_000 },
		...client,
	});
	const events = openEvents({ diplomat, producer: 'tester', ...options });
	await calm();
	return { clock, sidecar, diplomat, events, network };
}

/** Lets everything happen that needs no time: two connections are greeted, one behind the other. */
export async function calm(): Promise<void> {
	for (let turn = 0; turn < 5; turn++) await settle();
}
