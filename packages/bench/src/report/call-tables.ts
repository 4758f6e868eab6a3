import { type BenchResults, type CallFigure, SHAPES, type ShapeId } from '../results.ts';
import { CONTENDERS, ECHO_ID, findCall, PRODUCT_ID } from './contenders.ts';
import { formatCount, formatNumber, formatRatio, NOT_MEASURED, ratioOf } from './format-number.ts';
import { columnsOf, markdownTable } from './markdown.ts';
import { nodeName } from './plot-head.ts';

const FIGURE_HEADINGS = [
	'p50 µs',
	'p99 µs',
	'p99.9 µs',
	'calls/s',
	'CPU µs (client + server)',
	'RSS MB (client + server)',
];

/** One table for each load that was measured, idle and busy apart, under its own heading. */
export function renderCallTables(results: BenchResults): string {
	const blocks: string[] = [];
	for (const shape of Object.keys(SHAPES) as ShapeId[]) {
		for (const busy of [false, true]) {
			const figures = inOrder(results.calls.filter((figure) => figure.shape === shape && figure.busy === busy));
			if (figures.length === 0) continue;
			blocks.push(`### ${headingOf(shape, busy)}`, renderShapeTable(results, shape, figures), ...failureNotes(figures));
		}
	}
	return blocks.length === 0 ? `The calls were ${NOT_MEASURED}.` : blocks.join('\n\n');
}

/** The same loads on several versions of Node. */
export function renderNodeVersionTable(results: BenchResults): string {
	if (results.nodeVersions.length === 0) return `This was ${NOT_MEASURED}.`;
	const rows = results.nodeVersions.map((figure) => [
		nodeName(figure.node),
		loadOf(figure),
		labelOf(figure),
		...figureCells(figure),
	]);
	const table = markdownTable(columnsOf(3, ['Node', 'Load', 'Contender', ...FIGURE_HEADINGS]), rows);
	return [table, ...failureNotes(results.nodeVersions)].join('\n\n');
}

/** The sidecar's gRPC front, beside its own protocol. */
export function renderGrpcFrontTable({ grpcFront = [] }: BenchResults): string {
	if (grpcFront.length === 0) return `This was ${NOT_MEASURED}.`;
	const rows = grpcFront.map((figure) => [loadOf(figure), labelOf(figure), ...figureCells(figure)]);
	const table = markdownTable(columnsOf(2, ['Load', 'Contender', ...FIGURE_HEADINGS]), rows);
	return [table, ...failureNotes(grpcFront)].join('\n\n');
}

function renderShapeTable(results: BenchResults, shape: ShapeId, figures: readonly CallFigure[]): string {
	const { heading, pick } = comparisonOf(shape);
	const rows = figures.map((figure) => {
		const echo = findCall(results, ECHO_ID, shape, figure.busy);
		const cpu = ratioOf(figure.cpuUs, echo?.cpuUs);
		const compared = ratioOf(pick(figure), echo && pick(echo));
		return [
			labelOf(figure),
			...figureCells(figure),
			...[compared, cpu].map((ratio) => (ratio === undefined ? NOT_MEASURED : formatRatio(ratio))),
		];
	});
	return markdownTable(columnsOf(1, ['Contender', ...FIGURE_HEADINGS, heading, 'CPU to echo']), rows);
}

/** What a load is about: calls a second with many in flight, the tail at a fixed rate, otherwise the median. */
function comparisonOf(shape: ShapeId): { heading: string; pick: (figure: CallFigure) => number } {
	if (shape.endsWith('in-flight')) return { heading: 'calls/s to echo', pick: (figure) => figure.callsPerSecond };
	if (shape.startsWith('open')) return { heading: 'p99 to echo', pick: (figure) => figure.p99Us };
	return { heading: 'p50 to echo', pick: (figure) => figure.p50Us };
}

function figureCells(figure: CallFigure): string[] {
	const { clientCpuUs, serverCpuUs, clientRssMb, serverRssMb } = figure;
	return [
		...[figure.p50Us, figure.p99Us, figure.p999Us, figure.callsPerSecond].map(formatNumber),
		`${formatNumber(figure.cpuUs)} (${formatNumber(clientCpuUs)} + ${formatNumber(serverCpuUs)})`,
		`${formatNumber(clientRssMb)} + ${formatNumber(serverRssMb)}`,
	];
}

/** A figure with failed calls is no figure like the others, so the table says so. */
function failureNotes(figures: readonly CallFigure[]): string[] {
	const failed = figures.filter((figure) => figure.errors > 0);
	if (failed.length === 0) return [];
	return [`Calls failed: ${failed.map((figure) => `${figure.label}, ${formatCount(figure.errors)}`).join('; ')}.`];
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
	return figure.busy ? `${SHAPES[figure.shape]}, busy` : SHAPES[figure.shape];
}

function headingOf(shape: ShapeId, busy: boolean): string {
	const text = SHAPES[shape];
	return `${text.charAt(0).toUpperCase()}${text.slice(1)}${busy ? ', on a busy node' : ''}`;
}
