/** What stands where a figure is missing, in tables and in charts. */
export const NOT_MEASURED = 'not measured';

/** Digits that a measured figure keeps: the fourth one changes from run to run. */
const SIGNIFICANT_DIGITS = 3;

/** A measured figure: three significant digits and thousands separators, the same on every machine and in every locale. */
export function formatNumber(value: number): string {
	if (!Number.isFinite(value)) return NOT_MEASURED;
	if (value === 0) return '0';
	const rounded = Number(value.toPrecision(SIGNIFICANT_DIGITS));
	// Never an exponent: a reader compares digits. Trailing zeros stay, since they were measured.
	const decimals = Math.max(0, SIGNIFICANT_DIGITS - 1 - Math.floor(Math.log10(Math.abs(rounded))));
	return withSeparators(rounded.toFixed(Math.min(decimals, 6)));
}

/** An exact number of things. */
export function formatCount(value: number): string {
	return Number.isFinite(value) ? withSeparators(String(Math.round(value))) : NOT_MEASURED;
}

/** A figure that may be missing. */
export function formatOptional(value: number | null | undefined): string {
	return value === null || value === undefined ? NOT_MEASURED : formatNumber(value);
}

/** A duration given in µs, in the unit that is easiest to read. */
export function formatMicroseconds(microseconds: number): string {
	if (microseconds >= 1_000_000) return `${formatNumber(microseconds / 1_000_000)} s`;
	if (microseconds >= 1000) return `${formatNumber(microseconds / 1000)} ms`;
	return `${formatNumber(microseconds)} µs`;
}

/** A tick of an axis: exact, with no trailing zeros, and short where it is large. */
export function formatTick(value: number): string {
	if (value >= 1_000_000) return `${withSeparators(String(Number((value / 1_000_000).toPrecision(6))))}M`;
	if (value >= 10_000) return `${withSeparators(String(Number((value / 1000).toPrecision(6))))}k`;
	return withSeparators(String(Number(value.toPrecision(6))));
}

/** A tick of an axis of µs. */
export function formatMicrosecondsTick(microseconds: number): string {
	if (microseconds >= 1_000_000) return `${formatTick(microseconds / 1_000_000)} s`;
	if (microseconds >= 1000) return `${formatTick(microseconds / 1000)} ms`;
	return `${formatTick(microseconds)} µs`;
}

/** A factor. Below a tenth it reads as a fraction: 1/24 says more than 0.0417x. */
export function formatRatio(ratio: number): string {
	if (!Number.isFinite(ratio)) return NOT_MEASURED;
	return ratio > 0 && ratio < 0.1 ? `1/${formatNumber(1 / ratio)}` : `${formatNumber(ratio)}x`;
}

/** `measured / base`; undefined when either is missing or nothing can be said. */
export function ratioOf(measured: number | null | undefined, base: number | null | undefined): number | undefined {
	if (measured === null || measured === undefined || base === null || base === undefined) return undefined;
	const ratio = measured / base;
	return Number.isFinite(ratio) ? ratio : undefined;
}

function withSeparators(digits: string): string {
	const [whole = '', fraction] = digits.split('.');
	const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ',');
	return fraction === undefined ? grouped : `${grouped}.${fraction}`;
}
