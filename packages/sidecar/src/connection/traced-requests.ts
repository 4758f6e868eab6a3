import { type TraceContext, traceIdOf } from '@spock/protocol';
import type { Clock } from '@spock/protocol/internal';

import type { SidecarObserver } from '../foundation/observer.ts';

interface Traced {
	readonly func: string;
	readonly trace: TraceContext;
	readonly startedMs: number;
}

/** What reporting them needs. */
export interface TracedRequestsContext {
	readonly observer: SidecarObserver;
	readonly clock: Clock;
	readonly connection: number;
}

/**
 * The requests of one connection with a trace context, until their ends are reported. At most as many as are in flight; a connection
 * whose client does not trace has no such object.
 */
export class TracedRequests {
	readonly #context: TracedRequestsContext;
	readonly #open = new Map<number, Traced>();

	constructor(context: TracedRequestsContext) {
		this.#context = context;
	}

	begin(id: number, func: string, trace: TraceContext): void {
		this.#open.set(id, { func, trace, startedMs: this.#context.clock.now() });
	}

	/** The request was answered with this code, or `cancelled`. Does nothing for an id without a trace. */
	end(id: number, code: string): void {
		const traced = this.#open.get(id);
		if (traced === undefined) return;
		this.#open.delete(id);
		const { observer, clock, connection } = this.#context;
		const { func, trace, startedMs } = traced;
		observer.traced?.({
			connection,
			func,
			code,
			durationMs: clock.now() - startedMs,
			traceId: traceIdOf(trace),
			...trace,
		});
	}

	/** The connection has ended: cancels all of them. */
	endAll(): void {
		for (const id of [...this.#open.keys()]) this.end(id, 'cancelled');
	}
}
