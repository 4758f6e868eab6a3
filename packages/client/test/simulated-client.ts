import type { Duplex } from 'node:stream';

import { FakeClock, FakeSidecar, type FakeSidecarOptions, memoryPair, settle } from '@spock/testkit';

import { type CreateOptions, createDiplomat } from '../src/connect.ts';
import type { Diplomat } from '../src/diplomat.ts';

/** The way between client and sidecar, which a test can cut. */
export class SimulatedNetwork {
	/** While this is a code, every attempt to connect fails with it. */
	failsWith: string | undefined = undefined;
	/** Attempts to connect so far. */
	attempts = 0;
	readonly sidecar: FakeSidecar;

	constructor(sidecar: FakeSidecar) {
		this.sidecar = sidecar;
	}

	readonly open = (): Duplex => {
		this.attempts++;
		if (this.failsWith !== undefined) {
			throw Object.assign(new Error(`connect ${this.failsWith}`), { code: this.failsWith, syscall: 'connect' });
		}
		const { near, far } = memoryPair();
		this.sidecar.accept(far);
		return near;
	};
}

/** A client, a scripted sidecar and the time between them, with no socket and no real timer. */
export interface Simulation {
	readonly clock: FakeClock;
	readonly sidecar: FakeSidecar;
	readonly network: SimulatedNetwork;
	readonly diplomat: Diplomat;
}

/** Starts a client; it is connected when this resolves, unless attempts fail with `failsWith`. */
export async function simulate(
	options: CreateOptions = {},
	script: FakeSidecarOptions = {},
	failsWith?: string,
): Promise<Simulation> {
	const clock = new FakeClock();
	const sidecar = new FakeSidecar(script);
	const network = new SimulatedNetwork(sidecar);
	network.failsWith = failsWith;
	const path = '/nowhere/simulated.sock';
	const diplomat = createDiplomat({ path, clock, random: () => 0.5, transport: network.open, ...options });
	await settle();
	return { clock, sidecar, network, diplomat };
}
