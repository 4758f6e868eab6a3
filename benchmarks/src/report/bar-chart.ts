import type { BarSeriesOption, EChartsOption } from 'echarts';

import {
	CARD_MARGIN,
	type ChartHead,
	drawCard,
	headHeight,
	INK,
	type ScaleKind,
	TONES,
	type Tone,
	textAt,
} from './chart-card.ts';
import { NOT_MEASURED } from './format-number.ts';

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

/** What one label stands for: a bar, or several below one another; as many in each row of a panel. */
export interface BarRow {
	readonly label: string;
	/** The product's own rows stand out. */
	readonly accent: boolean;
	readonly bars: readonly Bar[];
}

/** One bar: its parts end to end, on a linear scale. A bar with a missing part is not measured. */
export interface Bar {
	readonly parts: readonly { readonly value: number | null | undefined; readonly tone: Tone }[];
}

const BAR_HEIGHT = 13;
const ROW_GAP = 7;
const HEADING_HEIGHT = 32;
const AXIS_HEIGHT = 60;
/** Room behind the longest bar for its value. */
const VALUE_WIDTH = 86;
/** About the width of a letter of a row's label, plain and bold. */
const LETTER_WIDTH = 6.8;
const BOLD_LETTER_WIDTH = 7.8;
/** A longer label is cut. */
const LABEL_WIDTH_MAX = 270;
/** The smallest bar of a logarithmic axis is at least this factor long. */
const LOG_HEADROOM = 1.6;

/** Draws the chart; one without any figure says that nothing was measured. */
export function drawBarChart(chart: BarChart): string {
	const rows = chart.sections.flatMap((section) => section.panels.flatMap((panel) => panel.rows));
	if (!rows.some((row) => row.bars.some((bar) => barValue(bar) !== undefined))) return drawCard(chart, undefined);
	const left = CARD_MARGIN + 10 + Math.min(LABEL_WIDTH_MAX, Math.max(...rows.map(labelWidth)));
	const title = [];
	const grid: object[] = [];
	const xAxis: object[] = [];
	const yAxis: object[] = [];
	const series: BarSeriesOption[] = [];
	let top = headHeight(chart) + 2;
	for (const section of chart.sections) {
		const limits = axisLimits(section);
		for (const panel of section.panels) {
			if (panel.heading !== undefined) {
				title.push(textAt(CARD_MARGIN, top + 10, panel.heading, { fontWeight: 'bold' }));
				top += HEADING_HEIGHT;
			}
			const height = panel.rows.reduce((sum, row) => sum + row.bars.length * BAR_HEIGHT + ROW_GAP, 0);
			const gridIndex = grid.push({ left, right: CARD_MARGIN + VALUE_WIDTH, top, height }) - 1;
			xAxis.push({
				gridIndex,
				...limits,
				startValue: limits.min,
				...valueAxis(section, panel === section.panels.at(-1)),
			});
			yAxis.push({ gridIndex, ...rowAxis(panel) });
			series.push(...panelSeries(panel, section, limits.min).map((one) => ({ ...one, ...axesOf(gridIndex) })));
			top += height;
		}
		top += AXIS_HEIGHT;
	}
	const options = { grid, xAxis, yAxis, series } as EChartsOption;
	return drawCard(chart, { height: top - headHeight(chart), title, options });
}

function labelWidth({ label, accent }: BarRow): number {
	return label.length * (accent ? BOLD_LETTER_WIDTH : LETTER_WIDTH);
}

/** The whole length of a bar; undefined when any part is missing. */
function barValue(bar: Bar): number | undefined {
	const sum = bar.parts.reduce((total, { value }) => total + (value ?? Number.NaN), 0);
	return bar.parts.length > 0 && Number.isFinite(sum) ? sum : undefined;
}

/** One axis for all panels of a section, as long as the longest bar. */
function axisLimits({ panels, scale }: BarSection): { min: number; max: number } {
	const values = panels
		.flatMap((panel) => panel.rows.flatMap((row) => row.bars.map((bar) => barValue(bar) ?? 0)))
		.filter((value) => value > 0);
	const max = Math.max(...values);
	if (values.length === 0) return { min: scale === 'log' ? 0.1 : 0, max: 1 };
	return { min: scale === 'log' ? 10 ** Math.floor(Math.log10(Math.min(...values) / LOG_HEADROOM)) : 0, max };
}

function axesOf(gridIndex: number): { xAxisIndex: number; yAxisIndex: number } {
	return { xAxisIndex: gridIndex, yAxisIndex: gridIndex };
}

function valueAxis({ axisLabel, scale, formatTick }: BarSection, isLast: boolean): object {
	return {
		type: scale === 'log' ? 'log' : 'value',
		splitLine: { lineStyle: { color: INK.grid }, showMaxLine: false },
		axisLabel: { show: isLast, formatter: formatTick, showMaxLabel: false, fontSize: 11, color: INK.muted },
		name: isLast ? `${axisLabel}${scale === 'log' ? ', logarithmic' : ''}` : '',
		nameLocation: 'middle',
		nameGap: 28,
		nameTextStyle: { color: INK.muted },
	};
}

function rowAxis({ rows }: BarPanel): object {
	return {
		type: 'category',
		inverse: true,
		data: rows.map((row) => row.label),
		axisTick: { show: false },
		axisLine: { lineStyle: { color: INK.axis } },
		axisLabel: {
			interval: 0,
			width: LABEL_WIDTH_MAX,
			overflow: 'truncate',
			color: INK.strong,
			rich: { accent: { color: TONES.product.color, fontWeight: 'bold' } },
			formatter: (label: string, index: number) => (rows[index]?.accent === true ? `{accent|${label}}` : label),
		},
	};
}

/** A series for each part of each bar of a row. */
function panelSeries({ rows }: BarPanel, section: BarSection, min: number): BarSeriesOption[] {
	const bars = Math.max(...rows.map((row) => row.bars.length));
	return Array.from({ length: bars }, (_, bar) => {
		const parts = Math.max(...rows.map((row) => row.bars[bar]?.parts.length ?? 0));
		return Array.from(
			{ length: parts },
			(_, part): BarSeriesOption => ({
				type: 'bar',
				silent: true,
				...(parts > 1 ? { stack: `${bar}` } : {}),
				barWidth: BAR_HEIGHT - 2,
				barGap: '18%',
				// The library drops a bar that its border fills, and its label with it.
				barMinHeight: 2,
				data: rows.map((row) => barItem(row, bar, part, section, min)),
			}),
		);
	}).flat();
}

function barItem(row: BarRow, index: number, partIndex: number, { format }: BarSection, min: number) {
	const bar = row.bars[index];
	const part = bar?.parts[partIndex];
	if (bar === undefined || part === undefined) return '-';
	const value = barValue(bar);
	const label = { show: true, position: 'right', fontSize: 12 } as const;
	if (value === undefined) {
		// An empty bar carries the words; a row says them once.
		const isFirst = partIndex === 0 && (index === 0 || row.bars.some((other) => barValue(other) !== undefined));
		if (!isFirst) return '-';
		const style = { fontStyle: 'italic', color: INK.muted, formatter: () => NOT_MEASURED } as const;
		return { value: min, itemStyle: { color: 'transparent' }, label: { ...label, ...style } };
	}
	return {
		value: Math.max(part.value ?? 0, min),
		itemStyle: TONES[part.tone],
		label: {
			...label,
			show: partIndex === bar.parts.length - 1,
			color: row.accent ? TONES.product.color : INK.strong,
			fontWeight: row.accent ? ('bold' as const) : ('normal' as const),
			formatter: () => format(value),
		},
	};
}
