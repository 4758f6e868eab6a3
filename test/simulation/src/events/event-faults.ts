import type { SeededRandom } from '../seeded-random.ts';
import type { SidecarHost } from '../sidecar-host.ts';
import type { WorldContext } from '../world-context.ts';
import type { EventApp } from './event-app.ts';
import type { EventMachine } from './event-machine.ts';

/** What a fault can reach. */
export interface BreakableEvents {
	readonly world: WorldContext;
	readonly host: SidecarHost;
	readonly machine: EventMachine;
	readonly apps: readonly EventApp[];
	/** Ends a fault after a while. */
	readonly later: (delayMs: number, mend: () => void) => void;
	ensureUp(): void;
	losePower(): void;
	/** An app ends, and another takes its place. */
	replace(app: EventApp, how: 'kill' | 'drain' | 'close'): void;
}

/** One kind of fault: it begins now, and ends by itself after a while or at the next calm. Says what it is. */
type EventFault = (site: BreakableEvents, random: SeededRandom) => string;

const FAULTS: readonly (readonly [weight: number, fault: EventFault])[] = [
	[
		4,
		(site, random) => {
			site.host.kill();
			site.later(random.between(10, 4000), () => site.ensureUp());
			return 'SIGKILL';
		},
	],
	[
		2,
		(site, random) => {
			site.host.terminate();
			site.later(random.between(10, 4000), () => site.ensureUp());
			return 'SIGTERM';
		},
	],
	[
		3,
		(site) => {
			site.host.handOver();
			return 'hand-over';
		},
	],
	[
		3,
		(site, random) => {
			site.host.stop();
			site.later(random.between(10, 8000), () => site.host.resume());
			// By force, while it hangs.
			if (random.chance(0.5)) site.later(random.between(1, 3000), () => site.host.handOver());
			return 'SIGSTOP';
		},
	],
	[
		3,
		(site, random) => {
			site.losePower();
			site.later(random.between(10, 4000), () => site.ensureUp());
			return 'loss of power';
		},
	],
	[
		4,
		(site, random) => {
			const { faults } = site.machine;
			faults.errorChance = random.pick([0.1, 0.5, 1]);
			faults.errorCode = random.pick(['EIO', 'ENOSPC']);
			site.later(random.between(10, 4000), () => {
				faults.errorChance = 0;
			});
			return `the disk fails with ${faults.errorCode}`;
		},
	],
	[
		2,
		(site, random) => {
			site.machine.fill();
			site.later(random.between(10, 4000), () => site.machine.mend());
			return 'the disk is full';
		},
	],
	[
		2,
		(site, random) => {
			site.machine.hang();
			site.later(random.between(10, 6000), () => site.machine.mend());
			return 'the disk hangs';
		},
	],
	[
		2,
		(site, random) => {
			const { faults } = site.machine;
			faults.latencyMsMax = random.pick([10, 100, 500]);
			site.later(random.between(100, 6000), () => {
				faults.latencyMsMax = 1;
			});
			return 'the disk is slow';
		},
	],
	[5, (site, random) => `${site.world.network.cut(site.host.address, random.pick([0.3, 1]))} cut`],
	[2, (site) => `${site.world.network.halfClose(site.host.address, 0.5)} half-closed`],
	[
		3,
		(site, random) => {
			const quality = site.world.network.quality(site.host.address);
			quality.isHeld = random.chance(0.4);
			quality.latencyMsMax = random.pick([5, 50, 400]);
			quality.splitChance = random.pick([0, 0.5, 0.95]);
			site.later(random.between(200, 6000), () => {
				Object.assign(quality, { isHeld: false, latencyMsMax: 0.4, splitChance: 0.1 });
			});
			return 'the link is slow or held';
		},
	],
	[
		3,
		(site, random) => {
			const { process } = random.pick(site.apps);
			process.stop();
			site.later(random.between(5, 5000), () => process.resume());
			return `SIGSTOP of ${process.name}`;
		},
	],
	[
		5,
		(site, random) => {
			const app = random.pick(site.apps);
			const how = random.pick(['kill', 'kill', 'drain', 'close'] as const);
			site.replace(app, how);
			return `${how} of ${app.process.name}`;
		},
	],
];

const WEIGHTS = FAULTS.reduce((sum, [weight]) => sum + weight, 0);

/** Breaks something around the events, by chance. Says what. */
export function breakEvents(site: BreakableEvents, random: SeededRandom): string {
	let left = random.unit() * WEIGHTS;
	for (const [weight, fault] of FAULTS) {
		left -= weight;
		if (left < 0) return fault(site, random);
	}
	return 'nothing';
}
