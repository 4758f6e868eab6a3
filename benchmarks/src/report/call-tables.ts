import type { BenchResults, CallFigure, ShapeId } from '../results.ts';
import { CONTENDERS, findCall, PRODUCT_ID } from './contenders.ts';
import { formatCount, formatOptional, NOT_MEASURED } from './format-number.ts';
import { columnsOf, markdownTable } from './markdown.ts';
import { nodeName } from './plot-head.ts';

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

/** The figure that a load is about, as a column: the median, calls a second with many in flight, the tail at a fixed rate. */
interface LoadColumn {
	readonly heading: string;
	readonly shape: ShapeId;
	readonly pick: (figure: CallFigure) => number;
}

const LOAD_COLUMNS: readonly LoadColumn[] = [
	...(['one-core', 'two-cores', 'scheduler'] as const).map((shape) => ({
		heading: `${SHORT_SHAPES[shape]}: p50 µs`,
		shape,
		pick: ({ p50Us }: CallFigure) => p50Us,
	})),
	...(['64-in-flight', '1024-in-flight'] as const).map((shape) => ({
		heading: `${SHORT_SHAPES[shape]}: calls/s`,
		shape,
		pick: ({ callsPerSecond }: CallFigure) => callsPerSecond,
	})),
	...(['open-5000', 'open-20000'] as const).map((shape) => ({
		heading: `${SHORT_SHAPES[shape]}: p99 µs`,
		shape,
		pick: ({ p99Us }: CallFigure) => p99Us,
	})),
	...(['one-core', '1024-in-flight'] as const).map((shape) => ({
		heading: `${SHORT_SHAPES[shape]}: CPU µs`,
		shape,
		pick: ({ cpuUs }: CallFigure) => cpuUs,
	})),
];
/** A row for each contender on an idle node. A load that failed calls is no figure like the others, so a note below says so. */
export function renderCallTable(results: BenchResults): string {
	const figures = inOrder(results.calls.filter(({ busy }) => !busy));
	const columns = LOAD_COLUMNS.filter(({ shape }) => figures.some((figure) => figure.shape === shape));
	if (columns.length === 0) return `The calls were ${NOT_MEASURED}.`;
	const contenders = new Map(figures.map((figure) => [figure.contender, figure] as const));
	const rows = [...contenders].map(([id, first]) => [
		labelOf(first),
		...columns.map(({ shape, pick }) => {
			const found = findCall(results, id, shape);
			return formatOptional(found && pick(found));
		}),
	]);
	const headings = ['Contender', ...columns.map(({ heading }) => heading)];
	const shapes = [...new Set(columns.map(({ shape }) => shape))];
	const notes = shapes.flatMap((shape) =>
		failureNotes(
			figures.filter((figure) => figure.shape === shape),
			` (${SHORT_SHAPES[shape]})`,
		),
	);
	return [markdownTable(columnsOf(1, headings), rows), ...notes].join('\n\n');
}

/** The product under the same loads on several versions of Node. */
export function renderNodeVersionTable(results: BenchResults): string {
	const nodeVersions = results.nodeVersions.filter(({ contender }) => contender === PRODUCT_ID);
	if (nodeVersions.length === 0) return `This was ${NOT_MEASURED}.`;
	const nodes = [...new Set(nodeVersions.map(({ node }) => node))];
	const rows = [...new Set(nodeVersions.map(loadOf))].map((load) => [
		load,
		...nodes.flatMap((node) => {
			const figure = nodeVersions.find((other) => other.node === node && loadOf(other) === load);
			return [figure?.p50Us, figure?.cpuUs].map(formatOptional);
		}),
	]);
	const headings = nodes.flatMap((node) => ['p50 µs', 'CPU µs'].map((unit) => `${nodeName(node)}: ${unit}`));
	return [markdownTable(columnsOf(1, ['Load', ...headings]), rows), ...failureNotes(nodeVersions)].join('\n\n');
}

/** The sidecar's gRPC front, beside its own protocol. */
export function renderGrpcFrontTable({ grpcFront = [] }: BenchResults): string {
	if (grpcFront.length === 0) return `This was ${NOT_MEASURED}.`;
	const loads = [...new Set(grpcFront.map(loadOf))];
	const contenders = new Map(grpcFront.map((figure) => [figure.contender, figure] as const));
	const rows = [...contenders].map(([id, first]) => [
		labelOf(first),
		...loads.flatMap((load) => {
			const found = grpcFront.find((figure) => figure.contender === id && loadOf(figure) === load);
			return [found?.p50Us, found?.callsPerSecond, found?.cpuUs].map(formatOptional);
		}),
	]);
	const headings = loads.flatMap((load) => ['p50 µs', 'calls/s', 'CPU µs'].map((unit) => `${load}: ${unit}`));
	return [markdownTable(columnsOf(1, ['Contender', ...headings]), rows), ...failureNotes(grpcFront)].join('\n\n');
}

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
