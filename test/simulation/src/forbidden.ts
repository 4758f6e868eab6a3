// Before all others: it takes its own turns of the event loop from the process.
import './scheduler.ts';

import nodeCrypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import perfHooks from 'node:perf_hooks';
import timers from 'node:timers';
import timersPromises from 'node:timers/promises';

/** What nothing may take for itself while a simulation runs, and where it stands. */
const TAKEN: readonly (readonly [holder: object, name: string])[] = [
	[Math, 'random'],
	[Date, 'now'],
	[perfHooks.performance, 'now'],
	// This one first: it is a part of the other.
	[process.hrtime, 'bigint'],
	[process, 'hrtime'],
	[process, 'uptime'],
	[AbortSignal, 'timeout'],
	...[globalThis, timers].flatMap((holder) =>
		['setTimeout', 'setInterval', 'setImmediate'].map((name) => [holder, name] as const),
	),
	...['setTimeout', 'setInterval', 'setImmediate'].map((name) => [timersPromises, name] as const),
];
/** What every simulated process is told that its number is: the real one has another length each time, and frames hold it. */
const PID = 4711;
/** Lines of a stack that say who took it. */
const STACK_LINES = 20;

/** Told what was taken and where; undefined while it is allowed. */
let onTaken: ((message: string) => void) | undefined;
/** Given in place of `setImmediate`: a later turn of the simulation's own event loop. */
let onTurn: ((callback: () => void) => void) | undefined;

// When this module is loaded, and not when a run begins: what the product binds while it is loaded is found too.
for (const [holder, name] of TAKEN) trap(holder, name);
globalThis.Date = new Proxy(Date, {
	construct: (target, args: [], newTarget) => {
		if (args.length === 0) refuse('new Date()');
		return Reflect.construct(target, args, newTarget) as object;
	},
});
/** Tickets of uplinks: the trace has their bytes, so that they are unlike each other and the same in every replay. */
let ticketsGiven = 0;
const realRandomBytes = nodeCrypto.randomBytes;
function givenBytes(size: number): Buffer {
	if (onTaken === undefined) return realRandomBytes(size);
	const bytes = Buffer.alloc(size);
	bytes.writeUInt32BE(++ticketsGiven, 0);
	return bytes;
}
Object.assign(nodeCrypto, { randomBytes: givenBytes });
syncBuiltinESMExports();

/**
 * Makes taking time or randomness from the real process an error: it throws, and `violated` is told of it with its stack, because what is
 * thrown may be caught by whoever took it. A turn of the event loop is given by `laterTurn`. Gives a function that allows it again.
 */
export function forbidTaking(
	violated: (message: string) => void,
	laterTurn: (callback: () => void) => void,
): () => void {
	onTaken = violated;
	onTurn = laterTurn;
	ticketsGiven = 0;
	const pid = Object.getOwnPropertyDescriptor(process, 'pid') ?? { value: process.pid };
	Object.defineProperty(process, 'pid', { ...pid, value: PID, configurable: true });
	// The secrets of clients: of one length, unlike each other, and the same in every replay.
	let secrets = 0;
	const nextSecret = (): string => `00000000-0000-4000-8000-${String(++secrets).padStart(12, '0')}`;
	Object.defineProperty(crypto, 'randomUUID', { configurable: true, value: nextSecret });
	return () => {
		onTaken = undefined;
		onTurn = undefined;
		delete (crypto as { randomUUID?: unknown }).randomUUID;
		Object.defineProperty(process, 'pid', pid);
	};
}

function trap(holder: object, name: string): void {
	const target = Object.hasOwn(holder, name) ? holder : (Object.getPrototypeOf(holder) as object);
	const descriptor = Object.getOwnPropertyDescriptor(target, name) ?? {};
	const real = Reflect.get(holder, name) as (...args: unknown[]) => unknown;
	function trapped(this: unknown, ...args: unknown[]): unknown {
		if (name === 'setImmediate' && holder !== timersPromises && onTurn !== undefined) {
			const [callback, ...rest] = args as [(...rest: unknown[]) => void];
			return onTurn(() => callback(...rest));
		}
		refuse(name);
		return Reflect.apply(real, this, args);
	}
	// What else it has: `hrtime.bigint`, and the forms for `promisify`.
	const value = Object.defineProperties(trapped, Object.getOwnPropertyDescriptors(real));
	Object.defineProperty(target, name, {
		configurable: true,
		enumerable: descriptor.enumerable ?? true,
		writable: true,
		value,
	});
}

/** Throws while it is forbidden. */
function refuse(name: string): void {
	if (onTaken === undefined) return;
	const before = Error.stackTraceLimit;
	Error.stackTraceLimit = STACK_LINES;
	const error = new Error(`${name} was taken, and not given: a simulation cannot replay that`);
	Error.stackTraceLimit = before;
	onTaken(String(error.stack));
	throw error;
}
