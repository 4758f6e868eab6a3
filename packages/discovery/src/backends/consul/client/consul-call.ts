import { EventEmitter } from 'node:events';
import type { IncomingMessage } from 'node:http';

import { SpockError } from '@spock/protocol';
import { type Clock, offAbort, onAbort } from '@spock/protocol/internal';

import { refuseLongBody } from './answer-bound.ts';
import type { UrgentKind } from './urgent-sockets.ts';

/** Query parameters of a call; a list is sent as a parameter that repeats. */
export type ConsulParameters = Readonly<Record<string, string | readonly string[]>>;

/** What the npm package gives for a call with `includeResponse`. */
export type ConsulAnswer = readonly [response: IncomingMessage, body: unknown];

/**
 * The context of one call to the npm package: it cancels by this emitter (and ignores signals), and drops most query
 * parameters, so that ours are set by its extension hook.
 */
export class ConsulCall extends EventEmitter {
	readonly includeResponse = true;
	readonly parameters: ConsulParameters;
	/** In place of the body that the package would send; undefined leaves that alone. */
	readonly body: unknown;
	/** A longer answer is cut off. Default: see {@link refuseLongBody}. */
	readonly answerBytesMax: number | undefined;
	/** It has connections that no read takes. */
	readonly urgent: UrgentKind | undefined;
	/** It goes by a further address of this machine: see `FurtherSources`. */
	isFurther = false;

	constructor(
		parameters: ConsulParameters,
		{ body, answerBytesMax, urgent }: { body?: unknown; answerBytesMax?: number; urgent?: UrgentKind | undefined } = {},
	) {
		super();
		this.parameters = parameters;
		this.body = body;
		this.answerBytesMax = answerBytesMax;
		this.urgent = urgent;
	}

	/** Whether Consul holds it while nothing changes. */
	get isHeld(): boolean {
		return this.parameters['index'] !== undefined;
	}

	/** Ends the call with CLOSED, because its connection to Consul is closed. */
	close(): void {
		this.emit('closed');
	}
}

/** A request inside the npm package, as its extension hook is given it. */
export interface ConsulHookRequest {
	readonly ctx?: unknown;
	readonly opts: { readonly method?: string; readonly query: Record<string, unknown>; body?: unknown };
	res?: IncomingMessage;
	/** Who sends it: `node:http`, `node:https`, or who stands in for them. */
	transport?: unknown;
	/** Options of the request; not there before it is sent. */
	readonly req?: object;
}

/** The extension hook: sets the parameters and the body of a call, and watches its response for a break. */
export function prepareRequest(request: ConsulHookRequest): void {
	if (!(request.ctx instanceof ConsulCall)) return;
	Object.assign(request.opts.query, request.ctx.parameters);
	if (request.ctx.body !== undefined) request.opts.body = request.ctx.body;
	reportBrokenBody(request, request.ctx);
}

/** The package never settles when a connection is reset in the middle of a body: the response is watched for it. */
function reportBrokenBody(request: ConsulHookRequest, call: ConsulCall): void {
	let response: IncomingMessage | undefined;
	Object.defineProperty(request, 'res', {
		configurable: true,
		enumerable: true,
		get: () => response,
		set: (value: IncomingMessage | undefined) => {
			response = value;
			if (value !== undefined) refuseLongBody(value, call);
			value?.once('error', (error) => call.emit('broken', error));
			value?.once('close', () => {
				if (!value.complete) call.emit('broken', new Error('the connection ended in the middle of the response'));
			});
		},
	});
}

/** What {@link sendWithDeadline} needs. */
export interface DeadlineOptions {
	readonly clock: Clock;
	readonly call: ConsulCall;
	/** For headers and body together, in milliseconds. */
	readonly timeoutMs: number;
	readonly signal: AbortSignal | undefined;
}

/**
 * Settles with what `send` gives, or rejects at the deadline, at an abort (ABORTED), when the call is closed (CLOSED), or
 * when the answer breaks off, whichever comes first; the request is cancelled then. Leaves no timer and no listener behind.
 */
export function sendWithDeadline(
	{ clock, call, timeoutMs, signal }: DeadlineOptions,
	send: () => Promise<unknown>,
): Promise<unknown> {
	return new Promise((resolve, reject) => {
		if (signal?.aborted) return reject(aborted(signal));
		const end = (settle: () => void, isCancelled: boolean): void => {
			clock.clearTimeout(timer);
			offAbort(signal, abort);
			// Removed first: cancelling makes the package reject and the response break, which nobody needs to hear.
			call.removeAllListeners('broken');
			call.on('broken', () => undefined);
			settle();
			if (isCancelled) call.emit('cancel');
		};
		const abort = (): void => end(() => reject(aborted(signal)), true);
		const timer = clock.setTimeout(() => {
			end(() => reject(new Error(`no answer within ${timeoutMs} ms`)), true);
		}, timeoutMs);
		if (signal !== undefined) onAbort(signal, abort);
		call.once('closed', () => end(() => reject(new SpockError('CLOSED', 'the connection to Consul was closed')), true));
		call.once('broken', (error: Error) => end(() => reject(error), true));
		send().then(
			(answer) => end(() => resolve(answer), false),
			(error: unknown) => end(() => reject(error), false),
		);
	});
}

/** Waits; false as soon as the caller gives up. */
export function isPassed(clock: Clock, delayMs: number, signal: AbortSignal | undefined): Promise<boolean> {
	return new Promise((resolve) => {
		const end = (passed: boolean): void => {
			clock.clearTimeout(timer);
			offAbort(signal, abort);
			resolve(passed);
		};
		const abort = (): void => end(false);
		const timer = clock.setTimeout(() => end(true), delayMs);
		if (signal?.aborted) abort();
		else if (signal !== undefined) onAbort(signal, abort);
	});
}

function aborted(signal: AbortSignal | undefined): SpockError {
	return new SpockError('ABORTED', 'the call to Consul was aborted', { cause: signal?.reason });
}

/** A text in a filter, as Go reads one: JSON's escapes are Go's. A quotation mark is one too, because the filter's grammar ends at any. */
export function quote(text: string): string {
	return `"${JSON.stringify(text).slice(1, -1).replaceAll('\\"', '\\u0022')}"`;
}
