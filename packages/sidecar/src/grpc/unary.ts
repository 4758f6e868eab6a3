import type { handleUnaryCall, ServerUnaryCall } from '@grpc/grpc-js';
import { type AskedBy, type CallOptions, SpockError } from '@spock/protocol';
import type { Clock } from '@spock/protocol/internal';

import { hostOf } from '../connection/connection-facts.ts';
import type { SidecarObserver } from '../foundation/observer.ts';
import { callOptions } from '../foundation/sidecar-source.ts';
import { statusName, statusOf } from './grpc-status.ts';

/** What calls need. */
export interface CallsContext {
	readonly clock: Clock;
	readonly observer: SidecarObserver;
	/** Calls that may wait at once. */
	readonly waitingMax: number;
}

/** A call that waits for its answer: how long, and until when. Asked for only where there is something to wait for. */
export type Waiting = () => CallOptions & AskedBy;

/** Whose share a call uses: its host's, as of other connections; all who come by a unix domain socket are one. */
export function askerOf(call: { getPeer(): string }): string {
	const peer = call.getPeer();
	return peer.includes(':') ? `host ${hostOf(peer)}` : 'grpc';
}

/** The calls with one answer. */
export class UnaryCalls {
	readonly #context: CallsContext;
	#waiting = 0;

	constructor(context: CallsContext) {
		this.#context = context;
	}

	/** What grpc-js calls for a method. `handle` answers at once where it can; it throws or rejects with a SpockError. */
	handler<Q, R>(
		method: string,
		handle: (request: Q, waiting: Waiting, call: ServerUnaryCall<Q, R>) => R | Promise<R>,
	): handleUnaryCall<Q, R> {
		const { observer } = this.#context;
		return (call, callback) => {
			const succeed = (value: R): void => {
				observer.grpcAnswered?.(method, 'OK');
				callback(null, value);
			};
			const fail = (thrown: unknown): void => {
				const status = statusOf(this.errorOf(method, thrown));
				observer.grpcAnswered?.(method, statusName(status.code));
				callback(status);
			};
			try {
				const answer = handle(call.request, () => this.#wait(call), call);
				if (!(answer instanceof Promise)) return succeed(answer);
				this.#waiting++;
				answer.finally(() => this.#waiting--).then(succeed, fail);
			} catch (thrown) {
				fail(thrown);
			}
		};
	}

	/** The error of a handler as the caller may see it; reports a bug to the observer. */
	errorOf(method: string, thrown: unknown): SpockError {
		if (!SpockError.is(thrown)) this.#context.observer.fault?.(`grpc ${method}`, thrown);
		return SpockError.from(thrown);
	}

	/** Counts a call that has ended. */
	answered(method: string, code: string): void {
		this.#context.observer.grpcAnswered?.(method, code);
	}

	#wait(call: ServerUnaryCall<unknown, unknown>): CallOptions {
		const { clock, waitingMax } = this.#context;
		if (this.#waiting >= waitingMax)
			throw new SpockError('OVERLOADED', `${waitingMax} calls are already waiting for an answer, which is the limit`);
		const controller = new AbortController();
		call.on('cancelled', () => controller.abort());
		const deadlineMs = Number(call.getDeadline());
		const timeoutMs = Number.isFinite(deadlineMs) ? Math.max(1, deadlineMs - clock.wallNow()) : undefined;
		const waits = { signal: controller.signal, timeoutMs: timeoutMs && Math.min(timeoutMs, 2 ** 31 - 1) };
		return callOptions(waits, askerOf(call));
	}
}
