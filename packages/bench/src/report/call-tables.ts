import { type BenchResults, type CallFigure, SHAPES, type ShapeId } from '../results.ts';
import { CONTENDERS, ECHO_ID, findCall, PRODUCT_ID } from './contenders.ts';
import { formatCount, formatNumber, formatOptional, formatRatio, NOT_MEASURED, ratioOf } from './format-number.ts';
import { columnsOf, markdownTable } from './markdown.ts';
import { nodeName } from './plot-head.ts';

const SHAPE_IDS = Object.keys(SHAPES) as ShapeId[];
/** The loads where a whole sentence is too long: in cells and headings of columns. */
const SHORT_SHAPES: Readonly<Record<ShapeId, string>> = {
	'one-core': 'one core',
	'two-cores': 'two cores',
	scheduler: 'scheduler',
	'64-in-flight': '64 in flight',
	'1024-in-flight': '1024 in flight',
	'open-1000': '1,000/s',
	'open-5000': '5,000/s',
	'open-20000': '20,000/s',
};

/** A table for each load on an idle node, each under its own heading, and one for all loads on a busy node. */
export function renderCallTables(results: BenchResults): string {
	const blocks = SHAPE_IDS.flatMap((shape) => {
		const figures = inOrder(results.calls.filter((figure) => figure.shape === shape && !figure.busy));
		if (figures.length === 0) return [];
		return [`### ${headingOf(shape)}`, renderShapeTable(results, shape, figures), ...failureNotes(figures)];
	});
	blocks.push(...renderBusyNode(inOrder(results.calls.filter((figure) => figure.busy))));
	return blocks.length === 0 ? `The calls were ${NOT_MEASURED}.` : blocks.join('\n\n');
}

/** The same loads on several versions of Node. */
export function renderNodeVersionTable({ nodeVersions }: BenchResults): string {
	if (nodeVersions.length === 0) return `This was ${NOT_MEASURED}.`;
	const nodes = [...new Set(nodeVersions.map(({ node }) => node))];
	const rows = new Map<string, CallFigure>();
	for (const figure of nodeVersions) {
		const row = rowOf(figure);
		if (!rows.has(row)) rows.set(row, figure);
	}
	const cells = [...rows].map(([row, first]) => [
		loadOf(first),
		labelOf(first),
		...nodes.flatMap((node) => {
			const figure = nodeVersions.find((other) => other.node === node && rowOf(other) === row);
			return [figure?.p50Us, figure?.cpuUs].map(formatOptional);
		}),
	]);
	const headings = nodes.flatMap((node) => ['p50 µs', 'CPU µs'].map((unit) => `${nodeName(node)}: ${unit}`));
	const table = markdownTable(columnsOf(2, ['Load', 'Contender', ...headings]), cells);
	return [table, ...failureNotes(nodeVersions)].join('\n\n');
}

/** What the figures of one load and contender have in common, whatever the version of Node. */
function rowOf({ shape, busy, contender }: CallFigure): string {
	return [shape, busy, contender].join();
}

/** The sidecar's gRPC front, beside its own protocol. */
export function renderGrpcFrontTable({ grpcFront = [] }: BenchResults): string {
	if (grpcFront.length === 0) return `This was ${NOT_MEASURED}.`;
	const rows = grpcFront.map((figure) => [
		loadOf(figure),
		labelOf(figure),
		...[figure.p50Us, figure.p99Us, figure.callsPerSecond, figure.cpuUs].map(formatNumber),
	]);
	const headings = ['Load', 'Contender', 'p50 µs', 'p99 µs', 'calls/s', 'CPU µs'];
	return [markdownTable(columnsOf(2, headings), rows), ...failureNotes(grpcFront)].join('\n\n');
}

/** The 99th percentile under every load: the figure that a busy node moves. */
function renderBusyNode(figures: readonly CallFigure[]): string[] {
	if (figures.length === 0) return [];
	const shapes = SHAPE_IDS.filter((shape) => figures.some((figure) => figure.shape === shape));
	const contenders = [...new Map(figures.map((figure) => [figure.contender, figure] as const)).values()];
	const rows = contenders.map((first) => [
		labelOf(first),
		...shapes.map((shape) => {
			const found = figures.find((figure) => figure.contender === first.contender && figure.shape === shape);
			return formatOptional(found?.p99Us);
		}),
	]);
	return [
		'### On a busy node',
		'p99 in µs under the same loads, with a busy loop on each core beside them.',
		markdownTable(columnsOf(1, ['Contender', ...shapes.map((shape) => SHORT_SHAPES[shape])]), rows),
		...shapes.flatMap((shape) =>
			failureNotes(
				figures.filter((figure) => figure.shape === shape),
				` (${SHORT_SHAPES[shape]})`,
			),
		),
	];
}

function renderShapeTable(results: BenchResults, shape: ShapeId, figures: readonly CallFigure[]): string {
	const { heading, pick } = comparisonOf(shape);
	const rows = figures.map((figure) => {
		const echo = findCall(results, ECHO_ID, shape, figure.busy);
		const cpu = ratioOf(figure.cpuUs, echo?.cpuUs);
		const compared = ratioOf(pick(figure), echo && pick(echo));
		return [
			labelOf(figure),
			...[figure.p50Us, figure.p99Us, figure.p999Us, figure.callsPerSecond, figure.cpuUs].map(formatNumber),
			...[compared, cpu].map((ratio) => (ratio === undefined ? NOT_MEASURED : formatRatio(ratio))),
		];
	});
	const headings = ['Contender', 'p50 µs', 'p99 µs', 'p99.9 µs', 'calls/s', 'CPU µs', heading, 'CPU to echo'];
	return markdownTable(columnsOf(1, headings), rows);
}

/** What a load is about: calls a second with many in flight, the tail at a fixed rate, otherwise the median. */
function comparisonOf(shape: ShapeId): { heading: string; pick: (figure: CallFigure) => number } {
	if (shape.endsWith('in-flight')) return { heading: 'calls/s to echo', pick: (figure) => figure.callsPerSecond };
	if (shape.startsWith('open')) return { heading: 'p99 to echo', pick: (figure) => figure.p99Us };
	return { heading: 'p50 to echo', pick: (figure) => figure.p50Us };
}

/** A figure with failed calls is no figure like the others, so the table says so. */
function failureNotes(figures: readonly CallFigure[], where: string = ''): string[] {
	const failed = figures.filter((figure) => figure.errors > 0);
	if (failed.length === 0) return [];
	return [
		`Calls failed${where}: ${failed.map((figure) => `${figure.label}, ${formatCount(figure.errors)}`).join('; ')}.`,
	];
}

function inOrder(figures: readonly CallFigure[]): readonly CallFigure[] {
	const place = (figure: CallFigure): number => {
		const index = CONTENDERS.findIndex((contender) => contender.id === figure.contender);
		return index === -1 ? CONTENDERS.length : index;
	};
	return [...figures].sort((a, b) => place(a) - place(b));
}

function labelOf(figure: CallFigure): string {
	return figure.contender === PRODUCT_ID ? `**${figure.label}**` : figure.label;
}

function loadOf(figure: CallFigure): string {
	return figure.busy ? `${SHORT_SHAPES[figure.shape]}, busy` : SHORT_SHAPES[figure.shape];
}

function headingOf(shape: ShapeId): string {
	const text = SHAPES[shape];
	return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}
