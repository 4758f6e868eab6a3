import { INK } from './svg-colours.ts';

/** The reader's own interface font: an SVG in an image cannot load one. */
export const FONT_FAMILY = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', Helvetica, Arial, sans-serif";

/** How a text is set. */
export interface TextStyle {
	/** Pixels. Default 12. */
	readonly size?: number;
	readonly anchor?: 'start' | 'middle' | 'end';
	readonly bold?: boolean;
	readonly italic?: boolean;
	readonly fill?: string;
	/** A white rim that keeps the text readable above lines. */
	readonly halo?: boolean;
}

/** Text as XML character data or attribute value. Characters that XML 1.0 does not allow become U+FFFD. */
export function escapeXml(text: string): string {
	return text
		.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff\p{Surrogate}]/gu, '\ufffd')
		.replaceAll('&', '&amp;')
		.replaceAll('<', '&lt;')
		.replaceAll('>', '&gt;')
		.replaceAll('"', '&quot;')
		.replaceAll("'", '&apos;');
}

/** A coordinate with one decimal at most, so that equal results give equal bytes. */
export function coordinate(value: number): string {
	const rounded = Math.round(value * 10) / 10;
	return String(rounded === 0 ? 0 : rounded);
}

/** An empty element. Attributes with an empty value are left out; numbers are coordinates. */
export function element(name: string, attributes: Readonly<Record<string, string | number>>): string {
	return `<${name}${attributeText(attributes)}/>`;
}

/** A text whose baseline starts, centres or ends at (x, y). */
export function textElement(x: number, y: number, content: string, style: TextStyle = {}): string {
	const attributes = attributeText({
		x,
		y,
		'font-size': style.size ?? 12,
		'font-weight': style.bold === true ? '600' : '',
		'font-style': style.italic === true ? 'italic' : '',
		'text-anchor': style.anchor === undefined || style.anchor === 'start' ? '' : style.anchor,
		fill: style.fill ?? INK.strong,
		...(style.halo === true
			? { stroke: '#ffffff', 'stroke-width': 4, 'stroke-linejoin': 'round', 'paint-order': 'stroke' }
			: {}),
	});
	return `<text${attributes}>${escapeXml(content)}</text>`;
}

/**
 * About how wide a text is, in pixels. Nobody knows the reader's font, so this leans to the wide side of the fonts in
 * {@link FONT_FAMILY}.
 */
export function textWidth(text: string, size: number): number {
	let ems = 0;
	for (const character of text) {
		if (/[ .,:;'|!()[\]/ijlt]/.test(character)) ems += 0.36;
		else if (/[mwMW@%–—]/.test(character)) ems += 0.92;
		else if (/[A-Z]/.test(character)) ems += 0.69;
		else ems += (character.codePointAt(0) as number) < 0x2e80 ? 0.61 : 1.05;
	}
	return ems * size;
}

/** The text, or as much of its beginning as fits, with an ellipsis. */
export function fitText(text: string, size: number, widthMax: number): string {
	if (textWidth(text, size) <= widthMax) return text;
	const characters = [...text];
	while (characters.length > 0 && textWidth(`${characters.join('')}…`, size) > widthMax) characters.pop();
	return `${characters.join('').trimEnd()}…`;
}

function attributeText(attributes: Readonly<Record<string, string | number>>): string {
	return Object.entries(attributes)
		.filter(([, value]) => value !== '')
		.map(([key, value]) => ` ${key}="${typeof value === 'number' ? coordinate(value) : escapeXml(value)}"`)
		.join('');
}
