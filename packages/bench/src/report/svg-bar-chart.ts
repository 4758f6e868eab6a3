import { NOT_MEASURED } from './format-number.ts';
import { makeScale, type Scale, type ScaleKind } from './svg-axis.ts';
import { CARD_MARGIN, CARD_WIDTH, type ChartHead, drawCard, drawEmptyCard, headHeight } from './svg-card.ts';
import { INK, TONES, type Tone } from './svg-colours.ts';
import { element, fitText, textElement, textWidth } from './svg-element.ts';

/** Horizontal bars. */
export interface BarChart extends ChartHead {
	readonly sections: readonly BarSection[];
}

/** Bars that share one axis. */
export interface BarSection {
	/** The figure with its unit. */
	readonly axisLabel: string;
	readonly scale: ScaleKind;
	/** The value at the end of a bar, with its unit. */
	readonly format: (value: number) => string;
	readonly formatTick: (value: number) => string;
	readonly panels: readonly BarPanel[];
}

/** Rows under one heading. */
export interface BarPanel {
	readonly heading?: string;
	readonly rows: readonly BarRow[];
}

/** What one label stands for: a bar, or several below one another. */
export interface BarRow {
	readonly label: string;
	/** The product's own rows stand out. */
	readonly accent: boolean;
	readonly bars: readonly Bar[];
}

/** One bar: its parts end to end. A bar with a missing part is not measured. */
export interface Bar {
	readonly parts: readonly { readonly value: number | null | undefined; readonly tone: Tone }[];
}

const TEXT_SIZE = 12;
/** How much wider a bold text is. */
const BOLD_FACTOR = 1.1;
const LABEL_WIDTH_MAX = 270;
const BAR_HEIGHT = 13;
const BAR_GAP = 2;
const ROW_GAP = 6;
const HEADING_HEIGHT = 26;
const AXIS_HEIGHT = 50;
/** Between two axes, or between the last one and the border. */
const SECTION_GAP = 8;

const NOT_MEASURED_STYLE = { size: TEXT_SIZE, halo: true, italic: true, fill: INK.muted } as const;

/** The columns that all sections of a chart share: labels end at `labelEnd`, bars lie between `start` and `end`. */
interface Columns {
	readonly labelEnd: number;
	readonly start: number;
	readonly end: number;
}

/** Draws the chart; one without any figure says that nothing was measured. */
export function drawBarChart(chart: BarChart): string {
	const rows = chart.sections.flatMap((section) => section.panels.flatMap((panel) => panel.rows));
	if (rows.every((row) => row.bars.every((bar) => barValue(bar) === undefined))) return drawEmptyCard(chart);
	const columns = placeColumns(chart);
	const body: string[] = [];
	let y = headHeight(chart) + 4;
	for (const section of chart.sections) {
		body.push(...drawSection(section, columns, y));
		y += sectionHeight(section) + SECTION_GAP;
	}
	return drawCard(chart, y - headHeight(chart), body);
}

/** The whole length of a bar; undefined when any part is missing. */
function barValue(bar: Bar): number | undefined {
	let sum = 0;
	for (const { value } of bar.parts) {
		if (value === null || value === undefined || !Number.isFinite(value)) return undefined;
		sum += value;
	}
	return bar.parts.length === 0 ? undefined : sum;
}

function barText(bar: Bar, section: BarSection): string {
	const value = barValue(bar);
	return value === undefined ? NOT_MEASURED : section.format(value);
}

function placeColumns(chart: BarChart): Columns {
	const rows = chart.sections.flatMap((section) =>
		section.panels.flatMap((panel) => panel.rows.map((row) => ({ row, section }))),
	);
	const labelWidth = Math.max(...rows.map(({ row }) => rowTextWidth(row, row.label)));
	const valueWidth = Math.max(
		...rows.flatMap(({ row, section }) => row.bars.map((bar) => rowTextWidth(row, barText(bar, section)))),
	);
	const labelEnd = CARD_MARGIN + Math.min(labelWidth, LABEL_WIDTH_MAX);
	return { labelEnd, start: labelEnd + 10, end: CARD_WIDTH - CARD_MARGIN - valueWidth - 8 };
}

function rowTextWidth(row: BarRow, text: string): number {
	return textWidth(text, row.accent ? TEXT_SIZE * BOLD_FACTOR : TEXT_SIZE);
}

function rowHeight(row: BarRow): number {
	return Math.max(1, row.bars.length) * (BAR_HEIGHT + BAR_GAP) - BAR_GAP + ROW_GAP;
}

function panelHeight(panel: BarPanel): number {
	const rows = panel.rows.reduce((sum, row) => sum + rowHeight(row), 0);
	return rows + (panel.heading === undefined ? 0 : HEADING_HEIGHT);
}

function panelsHeight(section: BarSection): number {
	return section.panels.reduce((sum, panel) => sum + panelHeight(panel), 0);
}

function sectionHeight(section: BarSection): number {
	return panelsHeight(section) + AXIS_HEIGHT;
}

function drawSection(section: BarSection, columns: Columns, top: number): string[] {
	const values = section.panels.flatMap((panel) =>
		panel.rows.flatMap((row) => row.bars.map(barValue).filter((value) => value !== undefined)),
	);
	// Without a scale every bar is only the words that it was not measured.
	const scale = makeScale(section.scale, values, { tight: true, ticksMax: 8 });
	const drawn = scale === undefined ? [] : drawAxis(section, scale, columns, top + panelsHeight(section));
	let y = top;
	for (const panel of section.panels) {
		if (panel.heading !== undefined) {
			drawn.push(textElement(CARD_MARGIN, y + 17, panel.heading, { size: 13, bold: true }));
			y += HEADING_HEIGHT;
		}
		if (scale !== undefined) drawn.push(...drawGrid(panel, scale, columns, y));
		for (const row of panel.rows) {
			drawn.push(...drawRow(row, section, scale, columns, y));
			y += rowHeight(row);
		}
	}
	return drawn;
}

/** The lines behind the rows of one panel; they stop at the heading of the next. */
function drawGrid(panel: BarPanel, scale: Scale, columns: Columns, top: number): string[] {
	const bottom = top + panel.rows.reduce((sum, row) => sum + rowHeight(row), 0);
	const line = (x: number, stroke: string): string => element('line', { x1: x, y1: top, x2: x, y2: bottom, stroke });
	const width = columns.end - columns.start;
	return [
		...scale.ticks.map((tick) => line(columns.start + scale.position(tick) * width, INK.grid)),
		line(columns.start, INK.axis),
	];
}

function drawAxis(section: BarSection, scale: Scale, columns: Columns, bottom: number): string[] {
	const width = columns.end - columns.start;
	const label = scale.kind === 'log' ? `${section.axisLabel}, logarithmic` : section.axisLabel;
	const middle = columns.start + width / 2;
	const drawn = [textElement(middle, bottom + 34, label, { size: 12, anchor: 'middle', fill: INK.muted })];
	let labelledUntil = Number.NEGATIVE_INFINITY;
	for (const tick of scale.ticks) {
		const x = columns.start + scale.position(tick) * width;
		const text = section.formatTick(tick);
		const half = textWidth(text, 11) / 2;
		if (x - half < labelledUntil + 6) continue;
		labelledUntil = x + half;
		drawn.push(textElement(x, bottom + 15, text, { size: 11, anchor: 'middle', fill: INK.muted }));
	}
	return drawn;
}

function drawRow(row: BarRow, section: BarSection, scale: Scale | undefined, columns: Columns, top: number): string[] {
	const middle = top + rowHeight(row) / 2 + 4;
	const label = fitText(row.label, row.accent ? TEXT_SIZE * BOLD_FACTOR : TEXT_SIZE, LABEL_WIDTH_MAX);
	const ink = row.accent ? TONES.product.fill : INK.strong;
	const drawn = [
		textElement(columns.labelEnd, middle, label, { size: TEXT_SIZE, anchor: 'end', bold: row.accent, fill: ink }),
	];
	if (scale === undefined || row.bars.every((bar) => barValue(bar) === undefined)) {
		drawn.push(textElement(columns.start + 6, middle, NOT_MEASURED, NOT_MEASURED_STYLE));
		return drawn;
	}
	row.bars.forEach((bar, index) => {
		const y = top + ROW_GAP / 2 + index * (BAR_HEIGHT + BAR_GAP);
		const measured = barValue(bar) !== undefined;
		const end = measured ? drawParts(bar, scale, columns, y, drawn) : columns.start;
		const style = measured ? { size: TEXT_SIZE, halo: true, bold: row.accent, fill: ink } : NOT_MEASURED_STYLE;
		drawn.push(textElement(end + 6, y + 11, barText(bar, section), style));
	});
	return drawn;
}

/** Draws the parts end to end and gives the place where the bar ends. */
function drawParts(bar: Bar, scale: Scale, columns: Columns, y: number, drawn: string[]): number {
	const width = columns.end - columns.start;
	let sum = 0;
	let x = columns.start;
	for (const { value, tone } of bar.parts) {
		sum += value ?? 0;
		const end = columns.start + scale.position(sum) * width;
		const { fill, stroke } = TONES[tone];
		drawn.push(
			element('rect', {
				x: x + 0.5,
				y: y + 0.5,
				width: Math.max(0, end - x - 1),
				height: BAR_HEIGHT - 1,
				fill,
				stroke,
			}),
		);
		x = end;
	}
	return x;
}
