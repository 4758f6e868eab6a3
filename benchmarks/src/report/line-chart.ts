import type { EChartsOption, LineSeriesOption } from 'echarts';

import {
	CARD_MARGIN,
	CARD_WIDTH,
	type ChartHead,
	drawCard,
	headHeight,
	INK,
	notMeasuredAt,
	type ScaleKind,
	textAt,
} from './chart-card.ts';

/** Lines in panels side by side: two figures of different units never share an axis. */
export interface LineChart extends ChartHead {
	/** One or two. */
	readonly panels: readonly LinePanel[];
	/** What grows from left to right, for all panels; the axis is logarithmic. */
	readonly xLabel: string;
	readonly formatX: (value: number) => string;
}

/** One figure, as one line or several. */
export interface LinePanel {
	/** The figure with its unit. */
	readonly heading: string;
	readonly yScale: ScaleKind;
	/** The value at a point. */
	readonly format: (value: number) => string;
	readonly formatTick: (value: number) => string;
	readonly series: readonly LineSeries[];
}

/** One line; its label is unique in the chart. Points without a value are left out. */
export interface LineSeries {
	readonly label: string;
	readonly points: readonly { readonly x: number; readonly y: number | null | undefined }[];
}

type Point = readonly [x: number, y: number];

const PANEL_GAP = 28;
const TICK_WIDTH = 48;
const PLOT_HEIGHT = 210;
/** Above the plot: the heading, the legend and the highest value. */
const PANEL_HEAD = 66;
const PANEL_FOOT = 64;
/** Room for the values of the first and the last point, as a part of the axis; a single point has a factor of its own. */
const X_ROOM = 0.08;
const X_ROOM_OF_ONE = 1.4;

/** Lines of one panel differ in colour, dash and marker, so in greyscale too. */
const LINE_STYLES = [
	{ color: '#0969da', lineStyle: { type: 'solid', width: 2 }, symbol: 'circle' },
	{ color: '#a04100', lineStyle: { type: 'dashed', width: 2 }, symbol: 'rect' },
	{ color: '#59636e', lineStyle: { type: 'dotted', width: 2 }, symbol: 'circle' },
] as const;

/** Draws the chart; a panel, or a whole chart, without any figure says that nothing was measured. */
export function drawLineChart(chart: LineChart): string {
	const lines = chart.panels.map((panel) => panel.series.map((series) => measuredPoints(series, panel.yScale)));
	if (lines.flat(2).length === 0) return drawCard(chart, undefined);
	const title = [];
	const grid: object[] = [];
	const xAxis: object[] = [];
	const yAxis: object[] = [];
	const legend: object[] = [];
	const series: LineSeriesOption[] = [];
	const top = headHeight(chart);
	const width = (CARD_WIDTH - 2 * CARD_MARGIN - (chart.panels.length - 1) * PANEL_GAP) / chart.panels.length;
	for (const [index, panel] of chart.panels.entries()) {
		const left = CARD_MARGIN + index * (width + PANEL_GAP);
		const heading = panel.yScale === 'log' ? `${panel.heading}, logarithmic` : panel.heading;
		title.push(textAt(left, top + 6, heading, { fontWeight: 'bold' }));
		const points = (lines[index] ?? []).flat();
		if (points.length === 0) {
			title.push(notMeasuredAt(left + width / 2, top + PANEL_HEAD + PLOT_HEIGHT / 2));
			continue;
		}
		const plot = { left: left + TICK_WIDTH, top: top + PANEL_HEAD, width: width - TICK_WIDTH, height: PLOT_HEIGHT };
		const gridIndex = grid.push(plot) - 1;
		xAxis.push({ gridIndex, ...growthAxis(chart, points) });
		yAxis.push({ gridIndex, ...figureAxis(panel, points) });
		const labels = panel.series.map(({ label }) => label);
		if (labels.length > 1)
			legend.push({ data: labels, left, top: top + 28, padding: 0, itemGap: 24, textStyle: { color: INK.muted } });
		const axes = { xAxisIndex: gridIndex, yAxisIndex: gridIndex };
		series.push(...panelSeries(panel, lines[index] ?? []).map((one) => ({ ...one, ...axes })));
	}
	const options = { grid, xAxis, yAxis, legend, series } as EChartsOption;
	return drawCard(chart, { height: PANEL_HEAD + PLOT_HEIGHT + PANEL_FOOT, title, options });
}

/** In the order of x; a logarithm has no place for zero and below. */
function measuredPoints({ points }: LineSeries, scale: ScaleKind): Point[] {
	return points
		.map(({ x, y }): Point => [x, y ?? Number.NaN])
		.filter(([x, y]) => x > 0 && Number.isFinite(y) && (scale === 'linear' || y > 0))
		.sort(([a], [b]) => a - b);
}

function growthAxis({ xLabel, formatX }: LineChart, points: readonly Point[]): object {
	const values = [...new Set(points.map(([x]) => x))].sort((a, b) => a - b);
	const [least, most] = [Math.min(...values), Math.max(...values)];
	const room = Math.max(X_ROOM_OF_ONE, (most / least) ** X_ROOM);
	return {
		type: 'log',
		min: least / room,
		max: most * room,
		axisLine: { onZero: false, lineStyle: { color: INK.axis } },
		axisTick: { show: true, customValues: values },
		axisLabel: { customValues: values, hideOverlap: true, formatter: formatX, fontSize: 11, color: INK.muted },
		splitLine: { show: false },
		name: `${xLabel}, logarithmic`,
		nameLocation: 'middle',
		nameGap: 32,
		nameTextStyle: { color: INK.muted },
	};
}

function figureAxis({ yScale, formatTick }: LinePanel, points: readonly Point[]): object {
	return {
		...(yScale === 'log'
			? { type: 'log', min: 10 ** Math.floor(Math.log10(Math.min(...points.map(([, y]) => y)))) }
			: { type: 'value' }),
		splitLine: { lineStyle: { color: INK.grid } },
		axisLabel: { formatter: formatTick, fontSize: 11, color: INK.muted },
	};
}

function panelSeries({ series, format }: LinePanel, lines: readonly (readonly Point[])[]): LineSeriesOption[] {
	const points = lines.flat();
	return series.map(({ label }, index) => ({
		...(LINE_STYLES[index % LINE_STYLES.length] ?? LINE_STYLES[0]),
		type: 'line',
		name: label,
		silent: true,
		clip: false,
		symbolSize: 8,
		data: (lines[index] ?? []).map(([x, y]) => ({
			value: [x, y],
			label: {
				show: true,
				fontSize: 11,
				color: (LINE_STYLES[index % LINE_STYLES.length] ?? LINE_STYLES[0]).color,
				// The highest point at an x has its value above, the others below.
				position: points.some(([otherX, otherY]) => otherX === x && otherY > y) ? 'bottom' : 'top',
				formatter: () => format(y),
			},
		})),
	}));
}
