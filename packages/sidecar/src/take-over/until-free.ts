import { Backoff, type Clock, type TimerHandle } from '@spock/protocol/internal';

/** How long a start waits for a port of the sidecar that was asked to leave; then it continues without it. */
const PORT_MS_MAX = 1000;
const PORT_RETRY_MS = 10;
const LATE_RETRY_MS_MIN = 100;
const LATE_RETRY_MS_MAX = 5000;

/** A port that another process is about to release. */
export interface ContestedPort<T> {
	readonly clock: Clock;
	readonly bind: () => Promise<T>;
	/** Ends the attempts. What is bound at that moment is closed. */
	readonly signal: AbortSignal;
	/** Called when the port is bound, at once or much later. */
	readonly bound: (bound: T) => void;
	/** Called once if it stays taken, with the last error; attempts go on in the background. */
	readonly late: (error: Error) => void;
}

/**
 * Binds a port that another process releases: two processes cannot share one. Resolves when it is bound, or when it has been
 * taken for so long that the start continues without it. Rejects with the signal's reason, and at once with any other error.
 */
export async function untilFree<T extends { close(): Promise<void> }>(port: ContestedPort<T>): Promise<void> {
	const { clock, signal } = port;
	const startedMs = clock.now();
	for (;;) {
		signal.throwIfAborted();
		try {
			await bindOne(port);
			return;
		} catch (error) {
			const isTaken = ((error as Error).cause as NodeJS.ErrnoException | undefined)?.code === 'EADDRINUSE';
			if (!isTaken) throw error;
			if (clock.now() - startedMs > PORT_MS_MAX) {
				port.late(error as Error);
				break;
			}
		}
		await new Promise<void>((resolve) => clock.setTimeout(resolve, PORT_RETRY_MS));
	}
	tryOn(port);
}

async function bindOne<T extends { close(): Promise<void> }>({ bind, bound, signal }: ContestedPort<T>): Promise<void> {
	const one = await bind();
	if (!signal.aborted) return bound(one);
	await one.close();
	throw signal.reason;
}

/** Tries for as long as it takes: a hung process keeps its port until it wakes up or dies. */
function tryOn<T extends { close(): Promise<void> }>(port: ContestedPort<T>): void {
	const { clock, signal } = port;
	const backoff = new Backoff({ delayMsMin: LATE_RETRY_MS_MIN, delayMsMax: LATE_RETRY_MS_MAX });
	let timer: TimerHandle | undefined;
	const onAbort = (): void => clock.clearTimeout(timer);
	const again = (): void => {
		if (signal.aborted) return;
		timer = clock.setTimeout(() => {
			// `late` has reported the error; the next attempt may succeed.
			bindOne(port).then(() => signal.removeEventListener('abort', onAbort), again);
		}, backoff.next());
		timer.unref?.();
	};
	signal.addEventListener('abort', onAbort, { once: true });
	again();
}
