import { PassThrough } from 'node:stream';
import { fileURLToPath } from 'node:url';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { type Check, recordUnhandled } from '../check/problem.ts';
import { PRODUCT, type Subject } from '../subject.ts';
import { work } from '../work.ts';
import { clientWith, createDeafDiplomat } from './faulty-clients.ts';
import {
	CarriageReturnDecoder,
	createZerosDecoder,
	ForgetfulDecoder,
	ResumingDecoder,
	ThrowingDecoder,
	UncopiedDecoder,
} from './faulty-decoders.ts';
import { sidecarThatSays, sidecarWhoseOutput } from './faulty-sidecars.ts';

// Proves that each check of the fuzz can fail: one part of the product is replaced by a faulty one, and the fuzz must find it.
// ../fuzz.itest.ts runs the same seeds with nothing replaced and finds nothing.

/** Frames within which every fault must be found. */
const FRAMES_MAX = 5000;
/** First seeds that are tried. */
const SEEDS = 20;
const vectors = fileURLToPath(new URL('../../../../packages/protocol/vectors', import.meta.url));

interface PlantedFault {
	readonly fault: string;
	/** The faulty parts; all others are the product's. */
	readonly plant: Partial<Subject>;
	/** What the report must match. Needed where another fault could fail the same check. */
	readonly found?: RegExp;
	/** The first seed. Default 1; a later one where few frames show the fault, to keep the test short. */
	readonly seed?: number;
}

/** The faults by the check that must find them. The type requires an entry for every check. */
const planted: Readonly<Record<Check, readonly [PlantedFault, ...PlantedFault[]]>> = {
	decoder: [
		{
			fault: 'keeps a chunk without copying it',
			plant: { createDecoder: (sink, options) => new UncopiedDecoder(sink, options) },
			found: /number \d+: \{"frame"/,
		},
		{
			fault: 'takes a lone CR for a line end',
			plant: { createDecoder: (sink, options) => new CarriageReturnDecoder(sink, options) },
		},
		{
			fault: 'takes the rest of an oversize frame for a frame',
			plant: { createDecoder: (sink, options) => new ResumingDecoder(sink, options) },
			seed: 43,
		},
	],
	'decoder with ids': [{ fault: 'takes an id with leading zeros', plant: { createDecoder: createZerosDecoder } }],
	'decoder held': [
		{
			fault: 'loses what comes while it is held',
			plant: { createDecoder: (sink, options) => new ForgetfulDecoder(sink, options) },
		},
	],
	thrown: [
		{
			fault: 'a decoder that throws',
			plant: { createDecoder: (sink, options) => new ThrowingDecoder(sink, options) },
			found: /TypeError: planted/,
		},
	],
	readClientMessage: [
		{
			fault: 'keeps minus zero',
			plant: {
				readClientMessage: (text) => {
					const message = PRODUCT.readClientMessage(text);
					if (message.kind !== 'request') return message;
					return { ...message, id: (JSON.parse(text) as { id: number }).id };
				},
			},
			found: /-0/,
		},
	],
	'readClientMessage throws': [
		{
			fault: 'throws at what is not JSON',
			plant: { readClientMessage: (text) => PRODUCT.readClientMessage(JSON.stringify(JSON.parse(text))) },
			found: /SyntaxError/,
		},
	],
	readSidecarMessage: [
		{
			fault: 'takes a reply with a null id',
			plant: {
				readSidecarMessage: (text) => {
					const message = PRODUCT.readSidecarMessage(text);
					const isNull = message.kind === 'fault' && /^\{"id":null,"data"/.test(text);
					return isNull ? { kind: 'reply', id: 0, data: null } : message;
				},
			},
		},
	],
	'readSidecarMessage throws': [
		{
			fault: 'throws at a push without data',
			plant: {
				readSidecarMessage: (text) => {
					const message = PRODUCT.readSidecarMessage(text);
					if (message.kind === 'push' && message.data === null) throw new TypeError('planted');
					return message;
				},
			},
			found: /TypeError: planted/,
		},
	],
	validateFuncData: [
		{
			fault: 'takes a tag that is too long',
			plant: {
				validateFuncData: (func, data) => {
					const { tags } = (data ?? {}) as { tags?: unknown };
					if (!Array.isArray(tags)) return PRODUCT.validateFuncData(func, data);
					const cut = tags.map((tag) => (typeof tag === 'string' ? tag.slice(0, 512) : tag));
					return PRODUCT.validateFuncData(func, { ...(data as object), tags: cut });
				},
			},
			found: /accepted, although wrong: \["tags/,
		},
		{
			fault: 'passes on members that are unknown',
			plant: {
				validateFuncData: (func, data) => {
					const valid = PRODUCT.validateFuncData(func, data);
					return func === 'ping' || func === 'status' ? valid : (data as typeof valid);
				},
			},
		},
	],
	encoder: [
		{
			fault: 'leaves out the deadline of a request',
			plant: { encodeRequestTail: (func, payload) => PRODUCT.encodeRequestTail(func, payload) },
		},
	],
	'encoder: line ends': [
		{
			fault: 'writes the name of an event as it is',
			plant: { encodePush: (event, payload) => `{"event":"${event}","data":${payload}}\n` },
			seed: 3590,
		},
		{
			fault: 'writes a payload on several lines',
			plant: { encodePayload: (data) => JSON.stringify(data, null, 1) },
		},
	],
	client: [
		{
			fault: 'pick gives an address without a host',
			plant: clientWith(() => ({ pick: () => ({ port: 1, instance: 'a' }) })),
			found: /^pick: /,
		},
		{
			fault: 'watchService gives an infinite weight',
			plant: clientWith((diplomat) => {
				const watchService = diplomat.watchService.bind(diplomat);
				return {
					watchService: async function* (service: string) {
						for await (const snapshot of watchService(service)) {
							const instances = snapshot.instances.map((one) => ({ ...one, weight: Number.POSITIVE_INFINITY }));
							yield { ...snapshot, instances };
						}
					},
				};
			}),
			found: /^watch: .*"weight"/,
		},
		{
			fault: 'getService rejects with an exception',
			plant: clientWith(() => ({ getService: () => Promise.reject(new TypeError('planted')) })),
			found: /^getService rejects with TypeError: planted/,
		},
		{
			fault: 'request resolves with an invented reply',
			plant: clientWith((diplomat) => {
				const request = diplomat.request.bind(diplomat) as (func: string, ...rest: unknown[]) => Promise<unknown>;
				return {
					request: (func: string, ...rest: unknown[]) =>
						func === 'status' ? Promise.resolve({ invented: true }) : request(func, ...rest),
				};
			}),
			found: /^nobody replied \{"invented":true\}/,
		},
		{
			fault: 'hears nothing after bytes that are not UTF-8',
			plant: { createDiplomat: createDeafDiplomat },
			found: /^a good reply after all that is "undefined"/,
		},
	],
	'unhandled rejection': [
		{
			fault: 'a client that leaves a rejection unhandled',
			plant: clientWith((diplomat) => {
				const close = diplomat.close.bind(diplomat);
				return {
					close: () => {
						void Promise.reject(new TypeError('planted'));
						return close();
					},
				};
			}),
			found: /TypeError: planted/,
		},
	],
	'sidecar answers': [
		{
			fault: 'does not answer a function that is unknown',
			plant: sidecarThatSays((line) => (line.includes('"UNKNOWN_FUNC"') ? '' : line)),
			found: /^no .* among \[\]$/,
			seed: 228,
		},
	],
	'sidecar says more': [{ fault: 'answers twice', plant: sidecarThatSays((line) => `${line}${line}`) }],
	'sidecar frames': [
		{
			fault: 'sends a failure that is longer than what its client takes',
			plant: sidecarThatSays((line, frameBytesMax) =>
				frameBytesMax > 1025 && line.includes('"error"') ? `${line.trimEnd().padEnd(1025)}\n` : line,
			),
			found: /^1025 bytes of at most 1024/,
		},
	],
	'sidecar fault': [
		{
			fault: 'a source that throws',
			plant: {
				startSidecar: (options) => {
					const list = (): never => {
						throw new TypeError('planted');
					};
					return PRODUCT.startSidecar({ ...options, source: Object.assign(options.source, { list }) });
				},
			},
			found: /^listServices: TypeError: planted/,
			seed: 310,
		},
	],
	'sidecar ends': [
		{
			fault: 'leaves connections open',
			plant: {
				...sidecarWhoseOutput((output) => output.pipe(new PassThrough(), { end: false })),
				connectionEndMsMax: 20,
			},
			found: /the connection was open/,
		},
	],
};

describe('a planted fault is found by its check', () => {
	let listeners: NodeJS.UnhandledRejectionListener[] = [];
	// Keeps the planted rejection from the test runner, which would fail the run.
	beforeEach(() => {
		listeners = process.listeners('unhandledRejection');
		process.removeAllListeners('unhandledRejection');
		process.on('unhandledRejection', recordUnhandled);
	});
	afterEach(() => {
		process.off('unhandledRejection', recordUnhandled);
		for (const listener of listeners) process.on('unhandledRejection', listener);
	});

	const rows = Object.entries(planted).flatMap(([check, faults]) => faults.map((fault) => ({ check, ...fault })));
	it.each(rows)('$check: $fault', async ({ check, plant, found = /./, seed: first = 1 }) => {
		// Another vector makes other frames of each seed.
		for (let seed = first; ; seed++) {
			const order = { seed, step: 1, framesMax: FRAMES_MAX, vectors, corpus: '', isShrunk: false };
			const { failure } = await work(order, () => undefined, { ...PRODUCT, ...plant });
			if (failure?.check === check && found.test(failure.found)) return;
			if (seed === first + SEEDS) expect(failure).toMatchObject({ check, found: expect.stringMatching(found) });
		}
	});
});
