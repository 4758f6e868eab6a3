import type { ServiceQuery } from '@spock/protocol';

import type { SimClient } from './sim-client.ts';

/** Made once: an abort without a reason makes one each time, with a stack. */
const GIVEN_UP = new DOMException('the caller gave up', 'AbortError');

/** A query for a service that there is, sometimes with a tag. */
export function anyQuery({ random, world }: SimClient): ServiceQuery {
	const service = random.pick(world.registry.serviceNames);
	return random.chance(0.15) ? { service, tags: ['blue'] } : { service };
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
