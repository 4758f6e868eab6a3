import { shortDuration } from '../output/figures.ts';

/** How long ago, or `-` if unknown. */
export function age(at: number | null, now: number): string {
	return at === null ? '-' : shortDuration(now - at);
}

/** A moment as `23:37:55`, in UTC, as the log has it. */
export function timeOfDay(at: number): string {
	return new Date(at).toISOString().slice(11, 19);
}

/** A number in at most five characters: `999`, `1.2k`, `34k`, `5.6M`. */
export function shortNumber(value: number): string {
	if (value < 10 && value > 0 && !Number.isInteger(value)) return value.toFixed(1);
	for (const [unit, size] of [
		['G', 1e9],
		['M', 1e6],
		['k', 1e3],
	] as const) {
		if (value >= size * 0.9995) return `${(value / size).toFixed(value / size < 9.95 ? 1 : 0)}${unit}`;
	}
	return String(Math.round(value));
}

/** Text of exactly so many columns, cut with a sign where it is longer. */
export function fit(text: string, width: number, align: 'left' | 'right' = 'left'): string {
	const letters = [...text];
	if (letters.length > width) return width < 1 ? '' : `${letters.slice(0, width - 1).join('')}…`;
	const space = ' '.repeat(width - letters.length);
	return align === 'left' ? text + space : space + text;
}

/** A bar for each number, as high as its share of the largest. */
export function bars(values: readonly number[]): string {
	const most = Math.max(...values, 1);
	return values
		.map((value) => (value === 0 ? '·' : ('▁▂▃▄▅▆▇█'[Math.ceil((value / most) * 8) - 1] as string)))
		.join('');
}

/** The bound below which this share of the requests were answered; undefined where there were none or it is past all bounds. */
export function quantile(bounds: readonly number[], counts: readonly number[], share: number): number | undefined {
	const total = counts.reduce((sum, count) => sum + count, 0);
	let seen = 0;
	for (const [index, count] of counts.entries()) {
		seen += count;
		if (total > 0 && seen >= total * share) return bounds[index];
	}
	return undefined;
}
