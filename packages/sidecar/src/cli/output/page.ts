import { styleText } from 'node:util';

import stringWidth from 'string-width';
import wrapAnsi from 'wrap-ansi';

import { printable } from './output.ts';

/** What a piece of text is, which decides its colour. */
export type Style = 'good' | 'warning' | 'bad' | 'dim' | 'bold';

/** A piece of text, styled or not. It is raw: a page escapes what would steer a terminal. */
export type Piece = string | { readonly style: Style; readonly text: string };

/** A cell of a table: one piece, or several in a row. */
export type Cell = Piece | readonly Piece[];

/** How a page is shown. */
export interface Look {
	/** Columns that a table may take; undefined: as many as it needs. */
	readonly width: number | undefined;
	paint(style: Style, text: string): string;
}

/** Without colours, and as wide as it needs to be: for pipes and files. */
export const PLAIN: Look = { width: undefined, paint: (_style, text) => text };

const FORMATS = { good: 'green', warning: 'yellow', bad: 'red', dim: 'dim', bold: 'bold' } as const;
/** Between two columns. */
const GAP = 2;
/** A column that must shrink stays at least as wide. */
const COLUMN_MIN = 10;

/** The look of a stream: coloured and as wide as its terminal, or plain. NO_COLOR, FORCE_COLOR and TERM decide as in Node. */
export function lookOf(stream: NodeJS.WriteStream): Look {
	return {
		width: stream.isTTY ? stream.columns : undefined,
		paint: (style, text) => styleText(FORMATS[style], text, { stream }),
	};
}

/** True if the stream shows colours. */
export function isColoured(stream: NodeJS.WriteStream): boolean {
	return styleText('red', 'x', { stream }) !== 'x';
}

/** How a table is laid out. */
export interface TableOptions {
	/** Its first line. A column of which no row has anything is left out, and its title with it. */
	readonly titles?: readonly string[];
	/** Columns of the terminal to its left. Default 0. */
	readonly indent?: number;
	/** What each column has at least, so that tables with other lines between them are aligned. */
	readonly widths?: readonly number[];
}

/** A styled piece. */
export function styled(style: Style, text: string): Piece {
	return { style, text };
}

/** Lines of text for people: nothing in a piece can steer the terminal, and no cell is wider than its column. */
export class Page {
	readonly #look: Look;
	readonly #lines: string[] = [];

	constructor(look: Look) {
		this.#look = look;
	}

	/** Adds a line of pieces; an empty one without any. */
	line(...pieces: readonly Piece[]): this {
		this.#lines.push(this.#shown(pieces));
		return this;
	}

	/** Adds a table. Cells wrap where the terminal is narrower than the table. Nothing without a row. */
	table(rows: readonly (readonly Cell[])[], { titles, indent = 0, widths = [] }: TableOptions = {}): this {
		if (rows.length === 0) return this;
		const shown = rows.map((row) => row.map((cell) => this.#shown(isPieces(cell) ? cell : [cell])));
		const count = Math.max(...shown.map(({ length }) => length));
		const used = Array.from({ length: count }, (_, column) => column).filter(
			(column) => titles === undefined || shown.some((row) => (row[column] ?? '') !== ''),
		);
		const head = titles === undefined ? [] : [titles.map((title) => this.#shown([styled('dim', title)]))];
		const cells = [...head, ...shown].map((row) => used.map((column) => row[column] ?? ''));
		const natural = used.map((column, index) =>
			Math.max(widths[column] ?? 0, ...cells.map((row) => stringWidth(row[index] as string))),
		);
		const { width } = this.#look;
		const columns = fitted(natural, width === undefined ? undefined : width - indent);
		this.#lines.push(...laidOut(cells, columns, indent));
		return this;
	}

	/** Its lines, without a line end after the last one. */
	toString(): string {
		return this.#lines.join('\n');
	}

	#shown(pieces: readonly Piece[]): string {
		return pieces
			.map((piece) => {
				if (typeof piece === 'string') return printable(piece);
				return piece.text === '' ? '' : this.#look.paint(piece.style, printable(piece.text));
			})
			.join('');
	}
}

/** Prints a page on stdout. */
export function printPage(page: Page): void {
	process.stdout.write(`${page}\n`);
}

function isPieces(cell: Cell): cell is readonly Piece[] {
	return Array.isArray(cell);
}

function laidOut(rows: readonly (readonly string[])[], columns: readonly number[], indent: number): string[] {
	return rows.flatMap((row) => {
		const cells = columns.map((width, column) => wrapped(row[column] ?? '', width));
		const height = Math.max(...cells.map(({ length }) => length));
		return Array.from({ length: height }, (_, line) => {
			const texts = cells.map((lines, column) => padded(lines[line] ?? '', columns[column] ?? 0));
			return `${' '.repeat(indent)}${texts.join(' '.repeat(GAP))}`.trimEnd();
		});
	});
}

function wrapped(text: string, width: number): readonly string[] {
	return stringWidth(text) <= width ? [text] : wrapAnsi(text, width, { hard: true }).split('\n');
}

function padded(text: string, width: number): string {
	return `${text}${' '.repeat(Math.max(0, width - stringWidth(text)))}`;
}

/** The widths of columns that fit into so many: the widest are made narrower, all of them alike. */
function fitted(natural: readonly number[], width: number | undefined): readonly number[] {
	if (width === undefined) return natural;
	const room = width - GAP * (natural.length - 1);
	const total = (cap: number): number => natural.reduce((sum, one) => sum + Math.min(one, cap), 0);
	let cap = Math.max(COLUMN_MIN, ...natural);
	while (cap > COLUMN_MIN && total(cap) > room) cap--;
	return natural.map((one) => Math.min(one, cap));
}
