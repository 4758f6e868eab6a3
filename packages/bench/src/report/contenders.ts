import type { BenchResults, CallFigure, ContenderInfo, ShapeId } from '../results.ts';
import type { Tone } from './chart-card.ts';

/** `limit` is an echo that shows what the machine allows, not a way to find a service. */
export type ContenderKind = 'product' | 'limit' | 'peer';

/** A contender as the report presents it. */
export interface ContenderDescription extends ContenderInfo {
	readonly kind: ContenderKind;
	/** What it is, in one line. */
	readonly what: string;
}

/** The product's own contender. */
export const PRODUCT_ID = 'spock';
/** What all contenders are compared with. */
export const ECHO_ID = 'echo';

/** Every contender that the report knows, in the order of its tables. */
export const CONTENDERS: readonly ContenderDescription[] = [
	{
		id: 'c-echo',
		label: 'echo in C',
		kind: 'limit',
		what: '64 bytes there and back between two C programs: the limit of the kernel',
	},
	{
		id: ECHO_ID,
		label: 'echo, raw node:net',
		kind: 'limit',
		what: '64 bytes there and back over raw `node:net` with `onread`, no parsing and no timers: the limit of Node',
	},
	{
		id: PRODUCT_ID,
		label: 'Diplomat and Spock',
		kind: 'product',
		what: 'this project: the built client with its whole public API, asking the built sidecar',
	},
	{
		id: 'readline-node',
		label: 'readline, Node server',
		kind: 'peer',
		what: 'the plain client that one writes from the description of the protocol, and a plain server in Node',
	},
	{ id: 'readline-go', label: 'readline, Go server', kind: 'peer', what: 'the same client, and a plain server in Go' },
	{
		id: 'ioredis',
		label: 'ioredis, Redis',
		kind: 'peer',
		what: 'the address as JSON under a key of a real redis-server, over a unix socket',
	},
	{
		id: 'undici-unix',
		label: 'HTTP, undici, unix socket',
		kind: 'peer',
		what: 'undici and a `node:http` server, over a unix socket',
	},
	{
		id: 'grpc-js-unix',
		label: 'grpc-js, unix socket',
		kind: 'peer',
		what: 'grpc-js as client and as server, over a unix socket',
	},
	{
		id: 'grpc-js-tcp',
		label: 'grpc-js, TCP',
		kind: 'peer',
		what: 'grpc-js as client and as server, over TCP: the old way',
	},
	{
		id: 'grpc-js-go-unix',
		label: 'grpc-js, Go server, unix socket',
		kind: 'peer',
		what: 'grpc-js as client, grpc-go as server, over a unix socket',
	},
	{
		id: 'grpc-js-go-tcp',
		label: 'grpc-js, Go server, TCP',
		kind: 'peer',
		what: 'grpc-js as client, grpc-go as server, over TCP',
	},
	{
		id: 'consul-http',
		label: 'Consul over HTTP',
		kind: 'peer',
		what: 'no sidecar: the service asks the HTTP API of the Consul agent for every call',
	},
	{
		id: 'consul-http-cached',
		label: 'Consul over HTTP, agent cache',
		kind: 'peer',
		what: 'the same, answered from the cache of the Consul agent (`?cached`)',
	},
];

/** The contenders in the plots: one of each kind, since more would hide what a plot is to show. The tables have all. */
export const PLOTTED_IDS: readonly string[] = [
	ECHO_ID,
	PRODUCT_ID,
	'readline-node',
	'readline-go',
	'ioredis',
	'undici-unix',
	'grpc-js-unix',
	'grpc-js-tcp',
];

/** Every known contender under the label that the results give it, then those that only the results know. */
export function contendersOf(results: BenchResults): readonly ContenderDescription[] {
	const labels = new Map<string, string>();
	for (const figure of [...results.calls, ...results.connectPerCall]) {
		if (!labels.has(figure.contender)) labels.set(figure.contender, figure.label);
	}
	const known = CONTENDERS.map((contender) => ({ ...contender, label: labels.get(contender.id) ?? contender.label }));
	const knownIds = new Set(known.map((contender) => contender.id));
	const others = [...labels].filter(([id]) => !knownIds.has(id));
	return [...known, ...others.map(([id, label]): ContenderDescription => ({ id, label, kind: 'peer', what: label }))];
}

/** The figure of one contender under one load; undefined when it was not measured. */
export function findCall(
	results: BenchResults,
	contender: string,
	shape: ShapeId,
	busy: boolean = false,
): CallFigure | undefined {
	return results.calls.find(
		(figure) => figure.contender === contender && figure.shape === shape && figure.busy === busy,
	);
}

/** The fill of a contender's bars. */
export function toneOf(kind: ContenderKind, light: boolean = false): Tone {
	return light ? `${kind}Light` : kind;
}
