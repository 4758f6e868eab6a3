import type { Clock } from '@spock/protocol/internal';

import { isStale } from '../listen/unix-listener.ts';

/** How often the path is looked at, in milliseconds: with the successor gone too, no client of the node is served. */
const LOOK_MS = 1000;

/** The place of a sidecar that was replaced. */
export interface FormerPlace {
	readonly path: string;
	readonly clock: Clock;
	/** Ends the wait. */
	readonly signal: AbortSignal;
}

/** Resolves once no process listens at the path any more: the successor was removed, or has died. Keeps the process running until then. */
export async function untilAbandoned({ path, clock, signal }: FormerPlace): Promise<void> {
	while (!signal.aborted && !(await isStale(path))) {
		await new Promise<void>((resolve) => {
			const done = (): void => {
				clock.clearTimeout(timer);
				signal.removeEventListener('abort', done);
				resolve();
			};
			const timer = clock.setTimeout(done, LOOK_MS);
			signal.addEventListener('abort', done, { once: true });
			if (signal.aborted) done();
		});
	}
}
