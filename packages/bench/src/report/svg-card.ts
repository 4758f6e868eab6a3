import { NOT_MEASURED } from './format-number.ts';
import { CARD, INK, TONES, type Tone } from './svg-colours.ts';
import { element, escapeXml, FONT_FAMILY, fitText, textElement, textWidth } from './svg-element.ts';

/** Width of every chart in its own pixels: that of a page's text column. */
export const CARD_WIDTH = 840;
/** Free space at the left and right edge. */
export const CARD_MARGIN = 24;

const CONTENT_WIDTH = CARD_WIDTH - 2 * CARD_MARGIN;
/** Size of the line that says where the figures come from. */
export const SUBTITLE_SIZE = 11;
const LEGEND_SIZE = 12;
/** Height of a chart that has nothing to show but says so. */
const EMPTY_HEIGHT = 60;

/** What stands above every chart. */
export interface ChartHead {
	readonly title: string;
	/** What is shown, and which way is better; one line. */
	readonly note?: string;
	/** The machine, the Node version and the date. */
	readonly subtitle: string;
	readonly legend?: readonly LegendEntry[];
}

/** One entry of a legend. */
export interface LegendEntry {
	readonly label: string;
	/** Several swatches stand side by side before the label. */
	readonly tones: readonly Tone[];
}

/** The height that the head takes; the body of the chart starts below it. */
export function headHeight(head: ChartHead): number {
	return 62 + (head.note === undefined ? 0 : 20) + ((head.legend ?? []).length === 0 ? 0 : 24);
}

/** The whole SVG: card, head, and the body's elements, which the caller has placed below {@link headHeight}. */
export function drawCard(head: ChartHead, bodyHeight: number, body: readonly string[]): string {
	const height = headHeight(head) + bodyHeight;
	const label = escapeXml(head.title);
	return [
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${CARD_WIDTH} ${Math.ceil(height)}" width="${CARD_WIDTH}" ` +
			`height="${Math.ceil(height)}" role="img" aria-label="${label}" font-family="${escapeXml(FONT_FAMILY)}">`,
		`<title>${label}</title>`,
		`<desc>${escapeXml([head.note, head.subtitle].filter((text) => text !== undefined).join(' – '))}</desc>`,
		element('rect', {
			x: 0.5,
			y: 0.5,
			width: CARD_WIDTH - 1,
			height: Math.ceil(height) - 1,
			rx: 6,
			fill: CARD.background,
			stroke: CARD.border,
		}),
		...drawHead(head),
		...body,
		'</svg>',
		'',
	].join('\n');
}

/** A chart without any figure: its head, and that nothing was measured. */
export function drawEmptyCard(head: ChartHead): string {
	// Without bars there is nothing for a legend to explain.
	const { legend: _, ...bare } = head;
	const y = headHeight(bare) + EMPTY_HEIGHT / 2;
	const text = textElement(CARD_WIDTH / 2, y, NOT_MEASURED, {
		size: 14,
		anchor: 'middle',
		italic: true,
		fill: INK.muted,
	});
	return drawCard(bare, EMPTY_HEIGHT, [text]);
}

function drawHead(head: ChartHead): string[] {
	const drawn = [textElement(CARD_MARGIN, 32, fitText(head.title, 18, CONTENT_WIDTH), { size: 18, bold: true })];
	let y = 32;
	if (head.note !== undefined) {
		y += 20;
		drawn.push(textElement(CARD_MARGIN, y, fitText(head.note, 13, CONTENT_WIDTH), { size: 13 }));
	}
	y += 18;
	const subtitle = fitText(head.subtitle, SUBTITLE_SIZE, CONTENT_WIDTH);
	drawn.push(textElement(CARD_MARGIN, y, subtitle, { size: SUBTITLE_SIZE, fill: INK.muted }));
	return [...drawn, ...drawLegend(head.legend ?? [], y + 24)];
}

function drawLegend(entries: readonly LegendEntry[], baseline: number): string[] {
	const drawn: string[] = [];
	let x = CARD_MARGIN;
	for (const entry of entries) {
		for (const tone of entry.tones) {
			const { fill, stroke } = TONES[tone];
			drawn.push(element('rect', { x: x + 0.5, y: baseline - 9.5, width: 11, height: 11, fill, stroke }));
			x += 14;
		}
		drawn.push(textElement(x + 4, baseline, entry.label, { size: LEGEND_SIZE, fill: INK.muted }));
		x += 4 + textWidth(entry.label, LEGEND_SIZE) + 20;
	}
	return drawn;
}
