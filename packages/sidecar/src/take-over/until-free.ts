import type { Clock } from '@spock/protocol/internal';

/** How long a port may stay taken by the sidecar that was asked to leave. */
const PORT_MS_MAX = 10_000;
const PORT_RETRY_MS = 10;

/**
 * Binds a port that another process is about to let go of: two processes cannot share one. Rejects with the error of the
 * last try when it stays taken, and at once with any other error, or with the signal's reason.
 */
export async function untilFree<T>(clock: Clock, bind: () => Promise<T>, signal?: AbortSignal): Promise<T> {
	const startedMs = clock.now();
	for (;;) {
		signal?.throwIfAborted();
		try {
			return await bind();
		} catch (error) {
			const isTaken = ((error as Error).cause as NodeJS.ErrnoException | undefined)?.code === 'EADDRINUSE';
			if (!isTaken || clock.now() - startedMs > PORT_MS_MAX) throw error;
		}
		await new Promise<void>((resolve) => clock.setTimeout(resolve, PORT_RETRY_MS));
	}
}
