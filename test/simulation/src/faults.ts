import type { SeededRandom } from './seeded-random.ts';
import type { SidecarHost } from './sidecar-host.ts';
import type { SimClient } from './sim-client.ts';
import type { RegistryMode } from './sim-registry.ts';
import type { WorldContext } from './world-context.ts';

const BAD_MODES: readonly RegistryMode[] = ['hangs', 'answers 500', 'refuses', 'denies', 'lies empty'];

/** What a fault can reach. */
export interface Breakable {
	readonly context: WorldContext;
	readonly hosts: readonly SidecarHost[];
	readonly clients: readonly SimClient[];
	/** Ends a fault after a while. */
	later(delayMs: number, mend: () => void): void;
	ensureUp(host: SidecarHost): void;
	/** An app ends, and another takes its place. */
	replace(client: SimClient, how: 'kill' | 'drain' | 'close'): string;
}

/** One kind of fault: it begins now, and ends by itself after a while or at the next calm. */
type Fault = (world: Breakable, random: SeededRandom) => string;

const FAULTS: readonly (readonly [weight: number, fault: Fault])[] = [
	[
		6,
		(world, random) => {
			const mode = random.pick(BAD_MODES);
			world.context.registry.setMode(mode);
			world.later(random.between(50, 20_000), () => world.context.registry.setMode('well'));
			return `the registry ${mode}`;
		},
	],
	[
		2,
		(world) => {
			world.context.registry.moveIndexBack();
			return 'the index moves back';
		},
	],
	[
		3,
		(world, random) => {
			const count = random.between(3, 12);
			for (let change = 0; change < count; change++)
				world.later(random.unit() * 40, () => world.context.registry.changeOne());
			return `${count} changes at once`;
		},
	],
	[3, (world) => `nothing is left of ${world.context.registry.emptyOne()}`],
	[
		2,
		(world, random) => {
			const owners = world.hosts.map(({ address }) => address);
			return `${world.context.registry.forgetRegistered(owners, random.unit())} registrations are forgotten`;
		},
	],
	[
		2,
		(world, random) => {
			const { registry } = world.context;
			registry.latencyMsMax = random.pick([20, 500, 3000]);
			world.later(random.between(500, 10_000), () => {
				registry.latencyMsMax = 4;
			});
			return 'the registry is slow';
		},
	],
	[
		6,
		(world, random) => onHost(world, (host) => `${world.context.network.cut(host.address, random.pick([0.3, 1]))} cut`),
	],
	[3, (world) => onHost(world, (host) => `${world.context.network.halfClose(host.address, 0.5)} half-closed`)],
	[
		4,
		(world, random) =>
			onHost(world, (host) => {
				const quality = world.context.network.quality(host.address);
				quality.latencyMsMax = random.pick([5, 50, 400]);
				quality.splitChance = random.pick([0, 0.5, 0.95]);
				world.later(random.between(200, 10_000), () => {
					quality.latencyMsMax = 0.4;
					quality.splitChance = 0.1;
				});
				return 'the link is slow';
			}),
	],
	[
		2,
		(world, random) =>
			onHost(world, (host) => {
				const quality = world.context.network.quality(host.address);
				quality.isHeld = true;
				world.later(random.between(10, 4000), () => {
					quality.isHeld = false;
				});
				return 'the link is held';
			}),
	],
	[
		3,
		(world, random) => {
			const { faults } = world.context.network;
			faults.eagainChance = random.pick([0, 0.5]);
			faults.refuseChance = random.pick([0, 0.3, 0.9]);
			world.later(random.between(100, 5000), () => {
				faults.eagainChance = 0;
				faults.refuseChance = 0;
			});
			return 'connections are refused';
		},
	],
	[
		4,
		(world, random) =>
			onHost(world, (host) => {
				host.kill();
				world.later(random.between(10, 6000), () => world.ensureUp(host));
				return 'SIGKILL';
			}),
	],
	[
		4,
		(world, random) =>
			onHost(world, (host) => {
				host.terminate();
				world.later(random.between(10, 8000), () => world.ensureUp(host));
				return 'SIGTERM';
			}),
	],
	[
		3,
		(world) =>
			onHost(world, (host) => {
				host.handOver();
				return 'hand-over';
			}),
	],
	[
		3,
		(world, random) =>
			onHost(world, (host) => {
				host.stop();
				world.later(random.between(10, 15_000), () => host.resume());
				return 'SIGSTOP';
			}),
	],
	[
		3,
		(world, random) => {
			if (world.clients.length === 0) return 'no app to stop';
			const client = random.pick(world.clients);
			client.process.stop();
			world.later(random.between(5, 5000), () => client.process.resume());
			return `SIGSTOP of ${client.process.name}`;
		},
	],
	[
		3,
		(world, random) => {
			if (world.clients.length === 0) return 'no app to end';
			const client = random.pick(world.clients);
			return `${client.process.name}: ${world.replace(client, random.pick(['kill', 'drain', 'close']))}`;
		},
	],
];

const WEIGHTS = FAULTS.reduce((sum, [weight]) => sum + weight, 0);

/** Breaks something, by chance. Says what. */
export function breakSomething(world: Breakable, random: SeededRandom): string {
	let left = random.unit() * WEIGHTS;
	for (const [weight, fault] of FAULTS) {
		left -= weight;
		if (left < 0) return fault(world, random);
	}
	return 'nothing';
}

function onHost(world: Breakable, act: (host: SidecarHost) => string): string {
	if (world.hosts.length === 0) return 'there is no such host';
	const host = world.context.random.pick(world.hosts);
	return `${host.address}: ${act(host)}`;
}
