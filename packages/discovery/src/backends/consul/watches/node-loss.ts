import { isServing, type ServiceInstance } from '@spock/protocol';
import type { Clock } from '@spock/protocol/internal';

import { checksOf } from '../../../foundation/instance-notes.ts';
import { OWNER_META } from '../../../foundation/registration-place.ts';
import type { FetchAnswer } from '../../../watch/watch-loop.ts';

/**
 * How long the next answer is waited for where the failure of a node leaves no instance well. Consul takes five to ten seconds to find such
 * a failure, and a sidecar that registered there does it elsewhere within a tenth of a second of that.
 */
const MOVE_MS = 1000;
const NODE_CHECK = 'serfHealth';

type Fetch<A> = (index: number, signal: AbortSignal) => Promise<A>;

/**
 * The same queries, but an answer that leaves no instance well because the node of one has failed at which a sidecar had registered it, is
 * replaced by a later one if that comes soon: the app may be well, and registered elsewhere at this moment. Until then the answer
 * before is served, as it is while Consul has not found the failure.
 */
export function whileMoving<A extends FetchAnswer<readonly ServiceInstance[]>>(
	fetch: Fetch<A>,
	clock: Clock,
): Fetch<A> {
	let before: readonly ServiceInstance[] = [];
	return async (index, signal) => {
		const first = await fetch(index, signal);
		const answer = isMoving(before, first.value) ? await laterAnswer(fetch, first, before, clock, signal) : first;
		before = answer.value;
		return answer;
	};
}

/** Never rejects: without a later answer this one is true, and as much older. */
async function laterAnswer<A extends FetchAnswer<readonly ServiceInstance[]>>(
	fetch: Fetch<A>,
	first: A,
	before: readonly ServiceInstance[],
	clock: Clock,
	signal: AbortSignal,
): Promise<A> {
	const waiting = new AbortController();
	const end = (): void => waiting.abort();
	const timer = clock.setTimeout(end, MOVE_MS);
	signal.addEventListener('abort', end, { once: true });
	const startedAtMs = clock.now();
	let answer = first;
	try {
		while (isMoving(before, answer.value)) {
			const { index } = answer;
			answer = await fetch(index, waiting.signal);
			// It was not held: the next one would end the same way at once.
			if (answer.index === index) break;
		}
		return answer;
	} catch {
		return { ...answer, meta: { ...answer.meta, ageMs: (answer.meta?.ageMs ?? 0) + clock.now() - startedAtMs } };
	} finally {
		clock.clearTimeout(timer);
		signal.removeEventListener('abort', end);
	}
}

function isMoving(before: readonly ServiceInstance[], now: readonly ServiceInstance[]): boolean {
	if (!before.some(isServing) || now.some(isServing)) return false;
	const wasServed = new Set(before.filter(isServing).map(({ instance }) => instance));
	return now.some((one) => wasServed.has(one.instance) && OWNER_META in one.meta && isNodeLost(one));
}

/** Its node has failed, and nothing else is wrong with it. */
function isNodeLost(instance: ServiceInstance): boolean {
	const [worst, next] = checksOf(instance);
	return (
		worst?.id === NODE_CHECK &&
		worst.status === 'critical' &&
		next?.status !== 'critical' &&
		next?.status !== 'maintenance'
	);
}
