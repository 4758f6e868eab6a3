import type { ServiceQuery } from '@spock/protocol';
import { hostileName } from '@spock/testkit/hostile';

import type { SimClient } from './sim-client.ts';

/** Made once: an abort without a reason makes one each time, with a stack. */
const GIVEN_UP = new DOMException('the caller gave up', 'AbortError');

/** Conditions that are asked for beside a service's name, most often none: several questions for one service. */
const CONDITIONS: readonly Omit<ServiceQuery, 'service'>[] = [
	...Array.from({ length: 15 }, () => ({})),
	{ tags: ['blue'] },
	{ tags: ['blue'] },
	{ tags: ['green', 'blue'] },
	{ meta: { color: 'red' } },
	{ tags: ['blue'], meta: { color: 'red' } },
];

/** A query for a service that there is, sometimes with conditions. */
export function anyQuery({ random, world }: SimClient): ServiceQuery {
	return { service: random.pick(world.registry.serviceNames), ...random.pick(CONDITIONS) };
}

/** A query for what nobody has: any name at all, or one that looks like another question about a service that there is. */
export function hostileQuery({ random, world }: SimClient): ServiceQuery {
	if (random.chance(0.5)) return { service: hostileName(random.unit) };
	const service = random.pick(world.registry.serviceNames);
	const rest = random.pick([
		'[["blue"],null,null,null]',
		'[[],null,[["color","red"]],null]',
		'[["blue","green"],null,null,null]',
	]);
	return { service: `${service}${random.pick(['\n', '', ' ', '\0'])}${rest}` };
}

/** A plain name where a name is all: both forms are asked. */
export function nameOrQuery(query: ServiceQuery): ServiceQuery | string {
	return query.tags === undefined && query.meta === undefined ? query.service : query;
}

/** A signal that sometimes aborts before the deadline. */
export function anySignal(
	{ random, process }: SimClient,
	timeoutMs: number,
): { signal: AbortSignal | undefined; isAborted: () => boolean } {
	if (!random.chance(0.2)) return { signal: undefined, isAborted: () => false };
	const controller = new AbortController();
	process.schedule(random.unit() * timeoutMs * 1.2, 'caller aborts', () => controller.abort(GIVEN_UP));
	return { signal: controller.signal, isAborted: () => controller.signal.aborted };
}
