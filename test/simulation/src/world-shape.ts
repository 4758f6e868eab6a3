import { oddName } from '@spock/testkit/hostile';

import type { SeededRandom } from './seeded-random.ts';
import type { HostOptions } from './sidecar-host.ts';
import type { ClientOptions } from './sim-client.ts';
import type { RegistryShape } from './sim-registry.ts';

/** How one world is set up: drawn from its seed, so that seeds differ in more than their luck. */
export interface WorldShape {
	readonly hosts: number;
	readonly clients: number;
	/** Time between two calls of one app, on average, in milliseconds. */
	readonly stepMs: number;
	/** Time between two faults or changes, on average, in milliseconds. */
	readonly faultMs: number;
	/** Whether apps say all the time how they are. */
	readonly isWordy: boolean;
	readonly registry: RegistryShape;
	readonly host: HostOptions;
	readonly client: Omit<ClientOptions, 'lookups'>;
}

/** Draws a world. */
export function drawShape(random: SeededRandom): WorldShape {
	const isSmall = random.chance(0.2);
	const isFat = random.chance(0.2);
	return {
		hosts: random.between(1, 2),
		clients: random.between(1, 4),
		stepMs: random.pick([8, 20, 50]),
		faultMs: random.pick([100, 400, 1500]),
		isWordy: random.chance(0.25),
		registry: {
			services: names(random, random.between(1, 4), (number) => `svc-${number}`),
			keys: names(random, random.between(1, 2), (number) => `config/${number}`),
			hasBroken: random.chance(0.4),
			instancesMax: isFat ? 30 : 6,
			metaLength: isFat ? 1500 : 0,
		},
		host: {
			emptyHoldMs: random.pick([0, 2000, 10_000]),
			idleTtlMs: random.pick([3000, 60_000]),
			limits: {
				graceMs: random.pick([0, 1000]),
				drainTimeoutMs: random.pick([500, 4000, 10_000]),
				slowConsumerMs: random.pick([3000, 30_000]),
				partialFrameMs: 10_000,
				outputBytesMax: isFat ? 1_048_576 : 131_072,
				inFlightMax: isSmall ? 16 : 4096,
			},
		},
		client: {
			heartbeatMs: random.pick([500, 2000]),
			timeoutMs: random.pick([1000, 5000]),
			retryDelayMsMax: random.pick([100, 1000]),
			stableMs: random.pick([50, 5000]),
			inFlightMax: isSmall ? 8 : 1024,
			waitingMax: isSmall ? 8 : 4096,
			pendingOutputBytesMax: random.pick([16_384, 1_048_576]),
			policy: random.pick(['round-robin', 'random', 'weighted', 'consistent-hash'] as const),
			subscriptionsMax: 4096,
		},
	};
}

/** Ordinary names, or, in every third world, such as a registry can have and code gets wrong. */
function names(random: SeededRandom, count: number, plain: (number: number) => string): readonly string[] {
	const isOdd = random.chance(0.33);
	const found = Array.from({ length: count }, (_, number) => (isOdd ? oddName(random.unit) : plain(number)));
	return [...new Set(found)];
}
