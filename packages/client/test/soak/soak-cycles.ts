import type { Duplex } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';

import { type CreateOptions, connect, createDiplomat, type Diplomat, socketTransport } from '@spock/client';
import { SpockError } from '@spock/protocol';

/** What a cycle works with. `shared` is a client that lives as long as the soak, `stop` a signal that is never aborted. */
export interface CycleContext {
	readonly options: CreateOptions;
	readonly shared: Diplomat;
	readonly stop: AbortSignal;
	/** Counts how a call ended: `ok`, or the code of its error. */
	readonly count: (end: string) => void;
}

type Cycle = (context: CycleContext, number: number) => Promise<unknown>;

const CALLS = 8;
/** A function that nobody answers: its service is one of which the registry says nothing. */
const slow = (number: number): string => `slow-${number % 4}`;
/** Not always another one: both sides remember a bounded number of texts, which fill up for longer than a soak lasts. */
const missing = (number: number): string => `missing-${number % 64}`;

/** Awaits calls, whatever becomes of them: connections are dropped all the time here. */
async function settle({ count }: CycleContext, calls: readonly Promise<unknown>[]): Promise<void> {
	for (const result of await Promise.allSettled(calls)) {
		if (result.status === 'fulfilled') count('ok');
		else if (SpockError.is(result.reason)) count(result.reason.code);
		else throw result.reason;
	}
}

function pings(diplomat: Diplomat, options?: { readonly signal: AbortSignal }): Promise<unknown>[] {
	return Array.from({ length: CALLS }, (_, index) => diplomat.request('ping', index, options));
}

/** A client whose bytes this process can reach, to spoil or cut them. */
function tapped({ transport: open = socketTransport, ...options }: CreateOptions): {
	readonly diplomat: Diplomat;
	readonly streams: Duplex[];
} {
	const streams: Duplex[] = [];
	const transport: typeof socketTransport = (address, receive) => {
		const stream = open(address, receive);
		streams.push(stream);
		return stream;
	};
	return { diplomat: createDiplomat({ ...options, transport }), streams };
}

/** What apps do with a client and what befalls them, by name. Each leaves nothing behind. */
export const cycles: Readonly<Record<string, Cycle>> = {
	'connect, calls, drain': async (context) => {
		const diplomat = await connect(context.options);
		await settle(context, [...pings(diplomat), diplomat.getService('steady')]);
		await diplomat.drain();
	},
	'connect, close with calls in flight': async (context, number) => {
		const diplomat = createDiplomat(context.options);
		const calls = [...pings(diplomat), diplomat.getService(slow(number), { fresh: true })];
		if (number % 2 === 0) await nextTurn();
		await Promise.all([settle(context, calls), diplomat.close()]);
	},
	'calls with a signal that outlives them': async (context, number) => {
		const { shared, stop } = context;
		const lookup = shared.getService(missing(number), { fresh: true, signal: stop });
		await settle(context, [...pings(shared, { signal: stop }), lookup]);
	},
	'aborted calls': async (context, number) => {
		const abort = new AbortController();
		const { signal } = abort;
		const calls = [
			context.shared.getService(slow(number), { fresh: true, signal }),
			...pings(context.shared, { signal }),
		];
		if (number % 2 === 0) await nextTurn();
		abort.abort();
		await settle(context, calls);
	},
	'calls that time out': async (context, number) => {
		const options = { fresh: true, timeoutMs: 1 + (number % 5) };
		await settle(context, [
			context.shared.getService(slow(number), options),
			context.shared.getService(slow(number + 1), options),
		]);
	},
	'a connection that the sidecar ends for its bad frames': async (context) => {
		const { diplomat, streams } = tapped(context.options);
		await settle(context, [diplomat.getService('steady')]);
		streams[0]?.write('garbage\n'.repeat(16));
		await settle(context, pings(diplomat));
		await diplomat.close();
	},
	'a connection that is cut': async (context, number) => {
		const { diplomat, streams } = tapped(context.options);
		await settle(context, [diplomat.ready()]);
		const calls = [...pings(diplomat), diplomat.getService(slow(number), { fresh: true, timeoutMs: 20 })];
		streams[0]?.destroy();
		await settle(context, calls);
		await diplomat.drain();
	},
	'subscriptions and a configuration': async (context, number) => {
		const diplomat = createDiplomat(context.options);
		const config = diplomat.config('app/limits', { parse: (text) => JSON.parse(text) as unknown });
		const iterator = diplomat.watchService(missing(number));
		await settle(context, [config.ready(), iterator.next(), diplomat.getKey('app/limits')]);
		await iterator.return?.();
		config.close();
		await diplomat.close();
	},
	'a watch of a client that lives on': async (context) => {
		const abort = new AbortController();
		const iterator = context.shared.watchService('steady', { signal: abort.signal });
		await settle(context, [iterator.next()]);
		abort.abort();
		await settle(context, [iterator.next()]);
	},
	'register and deregister': async (context, number) => {
		const diplomat = createDiplomat(context.options);
		const registering = diplomat.register({ service: 'app', port: 1 + (number % 64) });
		await settle(context, [registering]);
		const registration = await registering.catch(() => undefined);
		if (number % 2 === 0 && registration !== undefined) await settle(context, [registration.drain()]);
		await diplomat.drain();
	},
	'a sidecar that is not there': async (context) => {
		const path = `${context.options.path}.nobody`;
		await settle(context, [connect({ ...context.options, path, readyTimeoutMs: 15 })]);
	},
	'a connect that is aborted': async (context) => {
		const abort = new AbortController();
		const connecting = connect({ ...context.options, signal: abort.signal });
		abort.abort();
		await settle(context, [connecting]);
	},
};
