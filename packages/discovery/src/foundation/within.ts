import type { Clock } from '@spock/protocol/internal';

/** The outcome, or undefined when it takes longer than this. */
export function within<T>(clock: Clock, limitMs: number, outcome: Promise<T>): Promise<T | undefined> {
	return new Promise((resolve, reject) => {
		const timer = clock.setTimeout(() => resolve(undefined), limitMs);
		timer.unref?.();
		outcome.then(resolve, reject).finally(() => clock.clearTimeout(timer));
	});
}
