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
		what: '64 bytes there and back between two C programs',
	},
	{
		id: ECHO_ID,
		label: 'echo, raw node:net',
		kind: 'limit',
		what: 'the same over raw `node:net` with `onread`, without parsing or timers',
	},
	{
		id: PRODUCT_ID,
		label: 'Diplomat and Spock',
		kind: 'product',
		what: 'the built client with its whole public API, and the built sidecar',
	},
	{
		id: 'readline-node',
		label: 'readline, Node server',
		kind: 'peer',
		what: 'the plain client that one would write from the protocol description, and a plain Node server',
	},
	{ id: 'readline-go', label: 'readline, Go server', kind: 'peer', what: 'the same client, and a plain Go server' },
	{
		id: 'ioredis',
		label: 'ioredis, Redis',
		kind: 'peer',
		what: 'the address as JSON under a key of a real redis-server',
	},
	{
		id: 'undici-unix',
		label: 'HTTP, undici, unix socket',
		kind: 'peer',
		what: 'undici, and a `node:http` server',
	},
	{
		id: 'grpc-js-unix',
		label: 'grpc-js, unix socket',
		kind: 'peer',
		what: 'grpc-js as client and server',
	},
	{
		id: 'grpc-js-tcp',
		label: 'grpc-js, TCP',
		kind: 'peer',
		what: 'the same over TCP: how it was done before',
	},
	{
		id: 'grpc-js-go-unix',
		label: 'grpc-js, Go server, unix socket',
		kind: 'peer',
		what: 'grpc-js as client, grpc-go as server',
	},
	{
		id: 'grpc-js-go-tcp',
		label: 'grpc-js, Go server, TCP',
		kind: 'peer',
		what: 'the same over TCP',
	},
	{
		id: 'consul-http',
		label: 'Consul over HTTP',
		kind: 'peer',
		what: 'no sidecar: every call asks the Consul agent by HTTP',
	},
	{
		id: 'consul-http-cached',
		label: 'Consul over HTTP, agent cache',
		kind: 'peer',
		what: 'the same, from the cache of the agent',
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
