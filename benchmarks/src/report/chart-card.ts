import type { EChartsOption } from 'echarts';
import { BarChart, LineChart } from 'echarts/charts';
import { GridComponent, LegendComponent, TitleComponent } from 'echarts/components';
import { format, init, use } from 'echarts/core';
import { SVGRenderer } from 'echarts/renderers';

import { NOT_MEASURED } from './format-number.ts';

use([BarChart, LineChart, GridComponent, LegendComponent, TitleComponent, SVGRenderer]);

/** Width of every chart in its own pixels: that of a page's text column. */
export const CARD_WIDTH = 840;
/** Free space at the left and right edge. */
export const CARD_MARGIN = 24;
/** Height of a chart that has nothing to show but says so. */
const EMPTY_HEIGHT = 60;
/** The reader's own interface font: an SVG in an image cannot load one. */
const FONT_FAMILY = 'system-ui, sans-serif';

export const INK = { strong: '#1f2328', muted: '#59636e', grid: '#e4e8ec', axis: '#8b949e' } as const;

/** How a bar or a swatch is filled. Two shades for each, for bars in pairs or in two parts. */
export const TONES = {
	product: { color: '#0969da', borderColor: '#0969da', borderWidth: 1 },
	productLight: { color: '#86bdf5', borderColor: '#86bdf5', borderWidth: 1 },
	peer: { color: '#818b96', borderColor: '#818b96', borderWidth: 1 },
	peerLight: { color: '#c3cad2', borderColor: '#c3cad2', borderWidth: 1 },
	/** The echoes show the limit and are no peers, so they are only outlined. */
	limit: { color: '#f3f5f7', borderColor: '#818b96', borderWidth: 1 },
	limitLight: { color: '#ffffff', borderColor: '#818b96', borderWidth: 1 },
} as const;

/** Name of a fill. */
export type Tone = keyof typeof TONES;

/** `log` for figures that span decades; it has no zero, so its bars start at a power of ten below the smallest value. */
export type ScaleKind = 'linear' | 'log';

/** What stands above every chart. */
export interface ChartHead {
	readonly title: string;
	/** What is shown, and which way is better; one line. */
	readonly note?: string;
	/** The machine, the Node version and the date. */
	readonly subtitle: string;
	/** Several swatches stand side by side before the label. */
	readonly legend?: readonly { readonly label: string; readonly tones: readonly Tone[] }[];
}

type TitleOption = Exclude<NonNullable<EChartsOption['title']>, readonly unknown[]>;

/** The plots below the head, in the terms of the chart library; every part is a list. */
export interface ChartBody {
	readonly height: number;
	readonly title: readonly TitleOption[];
	readonly options: EChartsOption;
}

/** The height that the head takes; the body of the chart starts below it. */
export function headHeight({ note, legend = [] }: ChartHead): number {
	return 66 + (note === undefined ? 0 : 20) + (legend.length === 0 ? 0 : 24);
}

/** One line of text at a place of the card. */
export function textAt(left: number, top: number, text: string, style: TitleOption['textStyle'] = {}): TitleOption {
	const textStyle = {
		fontSize: 13,
		fontWeight: 'normal',
		color: INK.strong,
		fontFamily: FONT_FAMILY,
		...style,
	} as const;
	return { text, left, top, padding: 0, textStyle };
}

/** The whole SVG; without a body it says that nothing was measured. The same input gives the same bytes. */
export function drawCard(head: ChartHead, body: ChartBody | undefined): string {
	// Without bars there is nothing for a legend to explain.
	const { legend = [], ...bare } = head;
	const shownHead = body === undefined ? bare : head;
	const top = headHeight(shownHead);
	const height = top + (body?.height ?? EMPTY_HEIGHT);
	const shown = body ?? { title: [notMeasuredAt(CARD_WIDTH / 2, top + 10)], options: {} };
	const chart = init(null, null, { renderer: 'svg', ssr: true, width: CARD_WIDTH, height });
	chart.setOption({
		animation: false,
		// An opaque card: it reads the same on a light and on a dark page.
		backgroundColor: '#ffffff',
		textStyle: { fontFamily: FONT_FAMILY },
		...shown.options,
		title: [...headLines(shownHead, legend), ...shown.title],
	});
	const svg = chart.renderToSVGString();
	chart.dispose();
	const label = format.encodeHTML(head.title);
	return `${withoutHandles(svg).replace('<svg ', `<svg role="img" aria-label="${label}" `)}\n`;
}

/** The words that stand in place of a plot without figures, centred at `x`. */
export function notMeasuredAt(x: number, y: number): TitleOption {
	return { ...textAt(x, y, NOT_MEASURED, { fontStyle: 'italic', color: INK.muted }), textAlign: 'center' };
}

function headLines(head: ChartHead, legend: NonNullable<ChartHead['legend']>): TitleOption[] {
	const below = head.note === undefined ? 0 : 20;
	const lines = [
		textAt(CARD_MARGIN, 16, head.title, { fontSize: 18, fontWeight: 'bold' }),
		...(head.note === undefined ? [] : [textAt(CARD_MARGIN, 42, head.note)]),
		textAt(CARD_MARGIN, 42 + below, head.subtitle, { fontSize: 11, color: INK.muted }),
	];
	if (head.legend === undefined) return lines;
	const rich = Object.fromEntries(
		Object.entries(TONES).map(([tone, { color, ...border }]) => [
			tone,
			{ backgroundColor: color, ...border, width: 10, height: 10 },
		]),
	);
	const swatches = (tones: readonly Tone[]) => tones.map((tone) => `{${tone}|} `).join('');
	// The reader's font may be wider than the library reckons with: hence the wide gap.
	const text = legend.map(({ tones, label }) => `${swatches(tones)} ${label}{gap|}`).join('');
	return [
		...lines,
		textAt(CARD_MARGIN, 62 + below, text, { fontSize: 12, color: INK.muted, rich: { ...rich, gap: { width: 36 } } }),
	];
}

/** What the library adds for a page with a script, and its ids, which count up with each chart of a process. */
function withoutHandles(svg: string): string {
	return svg
		.replaceAll(/ (?:class|ecmeta_\w+)="[^"]*"/g, '')
		.replaceAll(/(id="|url\(#)zr\d+/g, '$1plot')
		.replace(/<style.*<\/style>\s*/s, '');
}
