/**
 * One fixed palette on an opaque white card with a border. A style sheet with prefers-color-scheme would follow the
 * system and not the theme that the reader chose on the page, and leaves dark text on a dark page where they differ; the
 * card is readable on both.
 */
export const CARD = { background: '#ffffff', border: '#d0d7de' } as const;

/** Text, and the lines that text stands beside. */
export const INK = { strong: '#1f2328', muted: '#59636e', grid: '#e4e8ec', axis: '#8b949e' } as const;

/** How a bar or a swatch is filled. Two shades for each, for bars in pairs or in two parts. */
export const TONES = {
	product: { fill: '#0969da', stroke: '#0969da' },
	'product-light': { fill: '#86bdf5', stroke: '#86bdf5' },
	peer: { fill: '#818b96', stroke: '#818b96' },
	'peer-light': { fill: '#c3cad2', stroke: '#c3cad2' },
	/** The echoes: no peers but the limit of what anybody could reach, so they are only outlined. */
	limit: { fill: '#f3f5f7', stroke: '#818b96' },
	'limit-light': { fill: '#ffffff', stroke: '#818b96' },
} as const;

/** Name of a fill. */
export type Tone = keyof typeof TONES;

/** Lines of one panel, told apart by colour, dash and marker, so that they differ in greyscale too. */
export const LINE_STYLES = [
	{ colour: '#0969da', dash: '', marker: 'circle' },
	{ colour: '#a04100', dash: '6 4', marker: 'square' },
	{ colour: '#59636e', dash: '2 3', marker: 'circle' },
] as const;

/** One entry of {@link LINE_STYLES}. */
export type LineStyle = (typeof LINE_STYLES)[number];
