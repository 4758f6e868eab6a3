/** A column of a table. Figures are aligned to the right, words to the left. */
export interface Column {
	/** The heading, with the unit. */
	readonly heading: string;
	readonly align: 'left' | 'right';
}

/** Columns from their headings: the first `leftCount` hold words, the others figures. */
export function columnsOf(leftCount: number, headings: readonly string[]): readonly Column[] {
	return headings.map((heading, index) => ({ heading, align: index < leftCount ? 'left' : 'right' }));
}

/** A table, padded so that its source can be read too. Cells must be plain text; pipes and line breaks are escaped. */
export function markdownTable(columns: readonly Column[], rows: readonly (readonly string[])[]): string {
	const cells = [columns.map((column) => column.heading), ...rows].map((row) =>
		columns.map((_, index) => escapeCell(row[index] ?? '')),
	);
	const widths = columns.map((_, index) => Math.max(3, ...cells.map((row) => [...(row[index] ?? '')].length)));
	const lines = cells.map((row) =>
		row.map((cell, index) => pad(cell, widths[index] ?? 0, columns[index]?.align === 'right')),
	);
	const ruler = columns.map((column, index) => {
		const dashes = '-'.repeat(widths[index] ?? 3);
		return column.align === 'right' ? `${dashes.slice(1)}:` : dashes;
	});
	return [lines[0] ?? [], ruler, ...lines.slice(1)].map((row) => `| ${row.join(' | ')} |`).join('\n');
}

/** One paragraph or list item: line breaks become spaces. */
export function oneLine(text: string): string {
	return text.replace(/\s*[\r\n]+\s*/g, ' ').trim();
}

function escapeCell(text: string): string {
	return oneLine(text).replaceAll('|', '\\|');
}

function pad(text: string, width: number, right: boolean): string {
	// Counted in characters: µ and × are one each.
	const missing = ' '.repeat(Math.max(0, width - [...text].length));
	return right ? missing + text : text + missing;
}
