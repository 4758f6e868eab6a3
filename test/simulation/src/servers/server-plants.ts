import type { Injection, Plant } from '../injection.ts';
import type { Invariant } from '../violation.ts';

/** What goes wrong on purpose at servers without node agents. */
export const SERVER_PLANTS: readonly Plant[] = [
	row('a registration stays at the server that it was made at', 'a registration outlives its server', 10, {
		servers: ({ places, catalogue }) => ({ catalogue, places: places.slice(0, 1) }),
	}),
	row('the servers publish nothing of a registration', 'an instance is registered once', 3, {
		servers: ({ places, catalogue }) => ({
			places,
			catalogue: { ...catalogue, look: () => Promise.resolve([]), watch: () => () => undefined },
		}),
	}),
];

function row(name: string, invariant: Invariant, seed: number, injection: Injection): Plant {
	return { name, invariant, seed, injection: { hasEvents: false, hasServers: 'only', ...injection } };
}
