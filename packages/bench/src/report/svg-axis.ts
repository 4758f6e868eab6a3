/** `log` for figures that span decades; it has no zero, so its bars start at a round value below the smallest. */
export type ScaleKind = 'linear' | 'log';

/** Where values stand on an axis. */
export interface Scale {
	readonly kind: ScaleKind;
	readonly min: number;
	readonly max: number;
	/** Round values within `min` and `max`, ascending. */
	readonly ticks: readonly number[];
	/** Place of a value, 0 at `min` and 1 at `max`; values outside stand at the ends. */
	position(value: number): number;
}

/** Options of {@link makeScale}. */
export interface ScaleOptions {
	/** True ends the axis at the largest value instead of the round value above it. Default false. */
	readonly tight?: boolean;
	/** Most ticks of a linear axis, 2 to 12. Default 6. */
	readonly ticksMax?: number;
}

/** A logarithmic axis of fewer decades than this has ticks at 2 and 5 as well. */
const DECADES_WITH_MINOR_TICKS = 2.4;
/** The smallest bar of a logarithmic axis is at least this factor long. */
const LOG_HEADROOM = 1.6;

/** An axis that holds all values; undefined when there is none that it could show. */
export function makeScale(kind: ScaleKind, values: readonly number[], options: ScaleOptions = {}): Scale | undefined {
	const shown = values.filter((value) => Number.isFinite(value) && (kind === 'linear' || value > 0));
	if (shown.length === 0) return undefined;
	const least = Math.min(...shown);
	const most = Math.max(...shown);
	return kind === 'log' ? logScale(least, most, options) : linearScale(least, most, options);
}

function linearScale(least: number, most: number, options: ScaleOptions): Scale {
	const bottom = Math.min(0, least);
	// All zero is a figure too: it stands at the foot of an axis to 1.
	const top = Math.max(0, most) === bottom ? bottom + 1 : Math.max(0, most);
	const step = roundUp((top - bottom) / ((options.ticksMax ?? 6) - 1));
	const min = Math.floor(bottom / step + 1e-9) * step;
	const max = options.tight === true ? top : Math.ceil(top / step - 1e-9) * step;
	const ticks: number[] = [];
	for (let index = Math.round(min / step); index * step <= max * (1 + 1e-9); index++) ticks.push(tidy(index * step));
	return scaleOf('linear', min, max, ticks, (value) => value);
}

function logScale(least: number, most: number, options: ScaleOptions): Scale {
	const min = roundDown(least / LOG_HEADROOM);
	const max = options.tight === true ? most : roundUp(most);
	const steps = Math.log10(max / min) < DECADES_WITH_MINOR_TICKS ? [1, 2, 5] : [1];
	const ticks: number[] = [];
	for (let decade = Math.floor(Math.log10(min)); decade <= Math.ceil(Math.log10(max)); decade++) {
		for (const step of steps) {
			const tick = tidy(step * 10 ** decade);
			if (tick >= min && tick <= max) ticks.push(tick);
		}
	}
	return scaleOf('log', min, max, ticks, Math.log10);
}

function scaleOf(
	kind: ScaleKind,
	min: number,
	max: number,
	ticks: readonly number[],
	place: (value: number) => number,
): Scale {
	const start = place(min);
	const length = place(max) - start;
	return {
		kind,
		min,
		max,
		ticks,
		position(value) {
			if (value <= min) return 0;
			return value >= max ? 1 : (place(value) - start) / length;
		},
	};
}

/** The smallest of 1, 2 and 5 times a power of ten that is not below the value. */
function roundUp(value: number): number {
	const decade = 10 ** Math.floor(Math.log10(value) + 1e-9);
	const step = [1, 2, 5, 10].find((candidate) => candidate * decade >= value * (1 - 1e-9)) ?? 10;
	return tidy(step * decade);
}

/** The largest of 1, 2 and 5 times a power of ten that is not above the value. */
function roundDown(value: number): number {
	const decade = 10 ** Math.floor(Math.log10(value) + 1e-9);
	const step = [5, 2, 1].find((candidate) => candidate * decade <= value * (1 + 1e-9)) ?? 1;
	return tidy(step * decade);
}

/** Takes the dust of binary fractions off a round value. */
function tidy(value: number): number {
	return Number(value.toPrecision(12));
}
