import { NOT_MEASURED } from './format-number.ts';
import { makeScale, type Scale, type ScaleKind } from './svg-axis.ts';
import { CARD_MARGIN, CARD_WIDTH, type ChartHead, drawCard, drawEmptyCard, headHeight } from './svg-card.ts';
import { INK, LINE_STYLES, type LineStyle } from './svg-colours.ts';
import { element, textElement, textWidth } from './svg-element.ts';

/** Lines in panels side by side: two figures of different units never share an axis. */
export interface LineChart extends ChartHead {
	/** One or two. */
	readonly panels: readonly LinePanel[];
	/** What grows from left to right, for all panels. */
	readonly xLabel: string;
	readonly xScale: ScaleKind;
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

/** One line. Points without a value are left out. */
export interface LineSeries {
	readonly label: string;
	readonly points: readonly { readonly x: number; readonly y: number | null | undefined }[];
}

const PANEL_GAP = 28;
const PLOT_HEIGHT = 210;
/** Above the plot: the heading and the legend. */
const PANEL_HEAD = 52;
const PANEL_FOOT = 72;
const POINT_TEXT_SIZE = 11;
/** Keeps the first and last point, and their values, off the edges of the plot. */
const INSET = 24;
/** Two points nearer than this get their values above and below instead of both above. */
const CROWDED = 30;

/** A rectangle in pixels. */
interface Box {
	readonly left: number;
	readonly top: number;
	readonly right: number;
	readonly bottom: number;
}

interface PlacedPoint {
	readonly x: number;
	readonly y: number;
	readonly text: string;
	readonly series: number;
}

/** Draws the chart; a panel, or a whole chart, without any figure says that nothing was measured. */
export function drawLineChart(chart: LineChart): string {
	if (chart.panels.every((panel) => allPoints(panel).length === 0)) return drawEmptyCard(chart);
	const top = headHeight(chart);
	const count = chart.panels.length;
	const width = (CARD_WIDTH - 2 * CARD_MARGIN - (count - 1) * PANEL_GAP) / count;
	const body = chart.panels.flatMap((panel, index) => {
		const left = CARD_MARGIN + index * (width + PANEL_GAP);
		return drawPanel(chart, panel, { left, top, right: left + width, bottom: top + PANEL_HEAD + PLOT_HEIGHT });
	});
	return drawCard(chart, PANEL_HEAD + PLOT_HEIGHT + PANEL_FOOT, body);
}

function measuredPoints(series: LineSeries, scale: ScaleKind): { x: number; y: number }[] {
	const points: { x: number; y: number }[] = [];
	for (const { x, y } of series.points) {
		if (y === null || y === undefined || !Number.isFinite(y)) continue;
		// A logarithm has no place for them.
		if (scale === 'log' && y <= 0) continue;
		points.push({ x, y });
	}
	return points.sort((a, b) => a.x - b.x);
}

function allPoints(panel: LinePanel): { x: number; y: number }[] {
	return panel.series.flatMap((series) => measuredPoints(series, panel.yScale));
}

function drawPanel(chart: LineChart, panel: LinePanel, area: Box): string[] {
	const points = allPoints(panel);
	const heading = panel.yScale === 'log' ? `${panel.heading}, logarithmic` : panel.heading;
	const drawn = [textElement(area.left, area.top + 18, heading, { size: 13, bold: true })];
	const yScale = makeScale(
		panel.yScale,
		points.map((point) => point.y),
	);
	if (yScale === undefined) {
		const x = (area.left + area.right) / 2;
		const y = area.top + PANEL_HEAD + PLOT_HEIGHT / 2;
		return [...drawn, textElement(x, y, NOT_MEASURED, { anchor: 'middle', italic: true, fill: INK.muted })];
	}
	const tickWidth = Math.max(...yScale.ticks.map((tick) => textWidth(panel.formatTick(tick), POINT_TEXT_SIZE)));
	const plot = { ...area, left: area.left + tickWidth + 8, top: area.top + PANEL_HEAD };
	const place = placer(chart, yScale, plot, points);
	const placed = panel.series.map((series, index) =>
		measuredPoints(series, panel.yScale).map(
			(point): PlacedPoint => ({
				x: place.x(point.x),
				y: place.y(point.y),
				text: panel.format(point.y),
				series: index,
			}),
		),
	);
	return [
		...drawn,
		...drawSeriesLegend(panel.series, area),
		...drawVerticalAxis(panel, yScale, plot, place.y),
		...drawHorizontalAxis(chart, plot, points, place.x),
		...placed.flatMap((line, index) => drawLine(line, styleOf(index))),
		...drawPointValues(placed.flat()),
	];
}

function placer(
	chart: LineChart,
	yScale: Scale,
	plot: Box,
	points: readonly { x: number }[],
): { x: (value: number) => number; y: (value: number) => number } {
	const values = points.map((point) => point.x).filter((x) => chart.xScale === 'linear' || x > 0);
	const least = Math.min(...values);
	const most = Math.max(...values);
	const along = chart.xScale === 'log' ? Math.log : (value: number) => value;
	const left = plot.left + INSET;
	const width = plot.right - INSET - left;
	return {
		// A single x stands in the middle.
		x: (value) =>
			left +
			(most > least ? (along(Math.max(value, least)) - along(least)) / (along(most) - along(least)) : 0.5) * width,
		y: (value) => plot.bottom - yScale.position(value) * (plot.bottom - plot.top - INSET),
	};
}

function styleOf(index: number): LineStyle {
	return LINE_STYLES[index % LINE_STYLES.length] ?? LINE_STYLES[0];
}

function drawSeriesLegend(series: readonly LineSeries[], area: Box): string[] {
	if (series.length < 2) return [];
	let x = area.left;
	return series.flatMap((entry, index) => {
		const start = x;
		const y = area.top + 38;
		x += 34 + textWidth(entry.label, 12) + 18;
		return [
			drawStroke(`M${start} ${y - 4}H${start + 26}`, styleOf(index)),
			drawMarker(start + 13, y - 4, styleOf(index)),
			textElement(start + 34, y, entry.label, { size: 12, fill: INK.muted }),
		];
	});
}

function drawVerticalAxis(panel: LinePanel, scale: Scale, plot: Box, placeY: (value: number) => number): string[] {
	const foot = { x1: plot.left, y1: plot.bottom, x2: plot.right, y2: plot.bottom, stroke: INK.axis };
	const grid = scale.ticks.flatMap((tick) => {
		const y = placeY(tick);
		const style = { size: POINT_TEXT_SIZE, anchor: 'end', fill: INK.muted } as const;
		return [
			element('line', { x1: plot.left, y1: y, x2: plot.right, y2: y, stroke: INK.grid }),
			textElement(plot.left - 6, y + 4, panel.formatTick(tick), style),
		];
	});
	return [...grid, element('line', foot)];
}

function drawHorizontalAxis(
	chart: LineChart,
	plot: Box,
	points: readonly { x: number }[],
	placeX: (value: number) => number,
): string[] {
	const values = [...new Set(points.map((point) => point.x))].sort((a, b) => b - a);
	const drawn: string[] = [];
	let labelledFrom = Number.POSITIVE_INFINITY;
	// From the right: where room is short the largest values keep their labels.
	for (const value of values) {
		const x = placeX(value);
		const text = chart.formatX(value);
		const half = textWidth(text, POINT_TEXT_SIZE) / 2;
		drawn.push(element('line', { x1: x, y1: plot.bottom, x2: x, y2: plot.bottom + 4, stroke: INK.axis }));
		if (x + half > labelledFrom - 6) continue;
		labelledFrom = x - half;
		const style = { size: POINT_TEXT_SIZE, anchor: 'middle', fill: INK.muted } as const;
		drawn.push(textElement(x, plot.bottom + 33, text, style));
	}
	const label = chart.xScale === 'log' ? `${chart.xLabel}, logarithmic` : chart.xLabel;
	const middle = (plot.left + plot.right) / 2;
	return [...drawn, textElement(middle, plot.bottom + 54, label, { size: 12, anchor: 'middle', fill: INK.muted })];
}

function drawLine(line: readonly PlacedPoint[], style: LineStyle): string[] {
	if (line.length === 0) return [];
	const path = line.map(({ x, y }, index) => `${index === 0 ? 'M' : 'L'}${x.toFixed(1)} ${y.toFixed(1)}`).join('');
	return [drawStroke(path, style), ...line.map(({ x, y }) => drawMarker(x, y, style))];
}

function drawStroke(path: string, style: LineStyle): string {
	return element('path', {
		d: path,
		fill: 'none',
		stroke: style.colour,
		'stroke-width': 2,
		'stroke-dasharray': style.dash,
	});
}

function drawMarker(x: number, y: number, style: LineStyle): string {
	return style.marker === 'circle'
		? element('circle', { cx: x, cy: y, r: 4, fill: style.colour })
		: element('rect', { x: x - 3.5, y: y - 3.5, width: 7, height: 7, fill: style.colour });
}

/** The highest point at an x has its value above, the lowest one below; those between them have none. */
function drawPointValues(points: readonly PlacedPoint[]): string[] {
	const columns = new Set(points.map((point) => point.x));
	return [...columns].flatMap((x) => {
		const sorted = points.filter((point) => point.x === x).sort((a, b) => a.y - b.y);
		const highest = sorted[0];
		const lowest = sorted.at(-1);
		if (highest === undefined || lowest === undefined) return [];
		if (highest === lowest) return [drawPointValue(highest, -9)];
		return [drawPointValue(highest, -9), drawPointValue(lowest, lowest.y - highest.y > CROWDED ? -9 : 18)];
	});
}

function drawPointValue(point: PlacedPoint, offset: number): string {
	return textElement(point.x, point.y + offset, point.text, {
		size: POINT_TEXT_SIZE,
		anchor: 'middle',
		fill: styleOf(point.series).colour,
		halo: true,
	});
}
