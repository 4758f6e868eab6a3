import type { CallOptions, Client, ClientUnaryCall, Metadata, ServiceError } from '@grpc/grpc-js';
import { durationMsOption, knownMembers, offAbort, onAbort, signalOption } from '@spock/protocol/internal';

/** Options of {@link unary}. */
export interface UnaryOptions extends Omit<CallOptions, 'deadline'> {
	/** Ends the call with DEADLINE_EXCEEDED, in milliseconds. Default: never. */
	readonly timeoutMs?: number;
	/** Cancels the call: CANCELLED. Default: none. */
	readonly signal?: AbortSignal;
	readonly metadata?: Metadata;
}

type UnaryMethod<Reply> = (
	request: unknown,
	...rest: [...([Metadata] | []), CallOptions, (error: ServiceError | null, reply: Reply) => void]
) => ClientUnaryCall;

const OPTIONS: readonly string[] = [
	'timeoutMs',
	'signal',
	'metadata',
	'host',
	'parent',
	'propagate_flags',
	'credentials',
	'interceptors',
	'interceptor_providers',
];

/**
 * Calls a unary method of a client: a promise for its reply. Rejects with a ServiceError. Throws a TypeError or RangeError for an
 * unknown method or option.
 */
export function unary<Reply>(
	client: Client,
	method: string,
	request: unknown,
	options: UnaryOptions = {},
): Promise<Reply> {
	for (const name in options) if (!OPTIONS.includes(name)) knownMembers('option', options, OPTIONS);
	const { timeoutMs, signal, metadata, ...callOptions } = options;
	const call = (client as unknown as Record<string, UnaryMethod<Reply> | undefined>)[method];
	if (typeof call !== 'function') throw new TypeError(`the client has no method ${JSON.stringify(method)}`);
	// Not of the clock: grpc-js compares it with this one, which may be a fake.
	const deadline = timeoutMs === undefined ? undefined : Date.now() + durationMsOption('timeoutMs', timeoutMs);
	signalOption('signal', signal);
	return new Promise((resolve, reject) => {
		const cancel = (): void => started.cancel();
		const started = call.call(
			client,
			request,
			...(metadata === undefined ? ([] as []) : ([metadata] as [Metadata])),
			{ ...callOptions, ...(deadline !== undefined && { deadline }) },
			(error, reply) => {
				offAbort(signal, cancel);
				if (error === null) resolve(reply);
				else reject(error);
			},
		);
		if (signal?.aborted) cancel();
		else if (signal !== undefined) onAbort(signal, cancel);
	});
}
