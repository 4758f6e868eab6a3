import { errorMonitor } from 'node:events';
import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { CallOutcome, Lease, ServiceQuery } from '@spock/client';
import { failedInstances, instanceError, isConnectionError, outcomeOf } from '@spock/client/integrations';
import { isError, messageOf } from '@spock/protocol/internal';

import type { Settings } from './agent-options.ts';
import type { InstanceSockets } from './instance-sockets.ts';
import { internalsOf } from './node-internals.ts';

/** By `retry`, how many of its requests were reset on a connection that had been idle before. */
const resets = new WeakMap<ReadonlySet<string>, number>();
/**
 * After so many, the next request takes a new connection: servers seem to close idle ones just now. Not after the first: an
 * instance that dies resets all that it has, and those who retry use the connections to the others.
 */
const RESETS_MAX = 2;

/** What becomes of one request, as its instance is to hear of it: it holds the lease, and releases it when the request closes. */
export class RequestOutcome {
	/** The instances that failed in the `retry` that this request is made in. */
	readonly failed: Set<string> | undefined;
	readonly #request: ClientRequest;
	readonly #query: ServiceQuery;
	readonly #settings: Settings;
	#lease: Lease | undefined;
	#sockets: InstanceSockets | undefined;
	#startedMs = 0;
	/** From the pick to the head of the response. */
	#durationMs: number | undefined;
	#head: CallEnd['head'];
	#destroyed: CallEnd['destroyed'];
	#hasTimedOut = false;
	#error: unknown;

	constructor(request: ClientRequest, query: ServiceQuery, settings: Settings) {
		this.#request = request;
		this.#query = query;
		this.failed = failedInstances(query);
		this.#settings = settings;
		request
			.on(errorMonitor, (error) => this.#failedWith(error))
			.on('timeout', () => {
				this.#hasTimedOut = true;
			})
			.once('socket', (socket) => this.#watchAnswer(socket))
			.once('close', () => this.#closed());
	}

	/** True where an idle connection is not to be used. */
	get needsNewConnection(): boolean {
		return this.failed !== undefined && (resets.get(this.failed) ?? 0) >= RESETS_MAX;
	}

	/** The request goes to this instance now; what it was before has been released. */
	begin(lease: Lease, sockets: InstanceSockets | undefined): void {
		this.#lease = lease;
		this.#startedMs = this.#settings.clock.now();
		// In this order, because the connections of an instance are forgotten when they are unused.
		sockets?.enter();
		this.#sockets?.leave();
		this.#sockets = sockets;
	}

	/** The caller has given up, with its reason if it has one. Only the first time counts. */
	destroyedByCaller(reason: unknown): void {
		this.#destroyed ??= { reason };
		this.#blameIfFailed();
	}

	/** The call counts no more at its instance. */
	release(): void {
		this.#blameIfFailed();
		this.#lease?.release(this.#outcome(), this.#durationMs);
	}

	/** The `retry` around this request takes another instance next. */
	blame(): void {
		if (this.#lease !== undefined) this.failed?.add(this.#lease.address.instance);
	}

	/** As soon as it is known, and not when the request closes: the caller may make its next attempt before that. */
	#blameIfFailed(): void {
		if (this.#outcome() === 'failure') this.blame();
	}

	#outcome(): CallOutcome {
		const { res, upgradeOrConnect } = internalsOf(this.#request);
		return outcomeOfEnd({
			head: this.#head,
			isComplete: upgradeOrConnect || res?.complete === true,
			responseError: res?.errored,
			destroyed: this.#destroyed,
			hasTimedOut: this.#hasTimedOut,
			error: this.#error,
		});
	}

	/** Detects the head of the response without a listener of `response`: with one, Node would not discard an unread response. */
	#watchAnswer(socket: Socket): void {
		const request = this.#request;
		const onData = (): void => {
			const { res } = internalsOf(request);
			if (res === null) return;
			socket.off('data', onData);
			this.#answered(res, socket);
		};
		socket.on('data', onData);
		request.once('close', () => socket.off('data', onData));
	}

	#answered(response: IncomingMessage, socket: Socket): void {
		const { clock, isFailure } = this.#settings;
		this.#durationMs = clock.now() - this.#startedMs;
		this.#sockets?.answered(socket, response.headers['keep-alive']?.toString());
		this.#head = isFailure(response) ? 'failure' : 'success';
		if (this.#head === 'failure') this.blame();
	}

	#failedWith(error: unknown): void {
		this.#error = error;
		this.#blameIfFailed();
		const lease = this.#lease;
		if (lease === undefined || this.#destroyed !== undefined) return;
		if (!isError(error) || error.cause !== undefined || !Object.isExtensible(error)) return;
		const { code } = error as NodeJS.ErrnoException;
		const { failed } = this;
		if (failed !== undefined && this.#request.reusedSocket) resets.set(failed, (resets.get(failed) ?? 0) + 1);
		// A copy, because an error that is the cause of its own cause traps code that follows causes.
		const copy = Object.assign(new Error(messageOf(error)), { code });
		const cause = instanceError(this.#query, lease.address, copy);
		Object.defineProperty(error, 'cause', { value: cause, configurable: true, writable: true });
		// What is logged is mostly the message alone. Its class and code stay, by which libraries know it.
		error.message = cause.message;
	}

	#closed(): void {
		const { socket } = this.#request;
		this.#sockets?.leave();
		if (internalsOf(this.#request).upgradeOrConnect && socket !== null && !socket.destroyed) {
			// The connection is the caller's now: it is in use until it closes, and no business of the pool.
			this.#sockets?.forget(socket);
			socket.once('close', () => this.release());
		} else {
			this.release();
		}
		this.#sockets = undefined;
	}
}

/** How a request ended, according to Node. */
export interface CallEnd {
	/** What the response's head says of the instance; undefined: there was none. */
	readonly head: 'success' | 'failure' | undefined;
	/** True when the whole response has come. */
	readonly isComplete: boolean;
	/** Why the response broke off; undefined when its reader left it without a reason. */
	readonly responseError: unknown;
	/** Present when the caller destroyed the request, with the reason that it gave, if any. */
	readonly destroyed: { readonly reason: unknown } | undefined;
	/** True when `timeout` was emitted. */
	readonly hasTimedOut: boolean;
	/** What the request failed with. */
	readonly error: unknown;
}

/** What a request's end says of its instance. */
export function outcomeOfEnd(end: CallEnd): CallOutcome {
	if (end.head === 'failure' || (end.head === 'success' && end.isComplete)) return end.head;
	if (end.destroyed !== undefined) return outcomeOfReason(end.destroyed.reason, end.hasTimedOut);
	if (end.head === 'success' && end.error === undefined) return outcomeOfReason(end.responseError, end.hasTimedOut);
	return outcomeOf(end.error);
}

/** Of a caller that gave up: because it had waited long enough, or for a reason of its own, which says nothing of the instance. */
function outcomeOfReason(reason: unknown, hasTimedOut: boolean): CallOutcome {
	return hasTimedOut || isConnectionError(reason) ? 'failure' : 'cancelled';
}
