import type { BenchResults, CallFigure, ShapeId } from './results.ts';

/** A ratio to the raw echo of the same run, and the bound past which something is broken and not just noisy. */
interface Bound {
	readonly what: string;
	readonly shape: ShapeId;
	readonly ratio: (spock: CallFigure, echo: CallFigure) => number;
	/** `most` for what should be small, `least` for what should be large: twice as bad as the goal. */
	readonly most?: number;
	readonly least?: number;
}

const p50 = (spock: CallFigure, echo: CallFigure): number => spock.p50Us / echo.p50Us;
const cpu = (spock: CallFigure, echo: CallFigure): number => spock.cpuUs / echo.cpuUs;
const rate = (spock: CallFigure, echo: CallFigure): number => spock.callsPerSecond / echo.callsPerSecond;

/** Twice the goals of docs/PERFORMANCE.md: a regression of kind is beyond them, what a shared machine does is not. */
export const BOUNDS: readonly Bound[] = [
	{ what: 'one call, one core: p50', shape: 'one-core', ratio: p50, most: 2.6 },
	{ what: 'one call, one core: CPU', shape: 'one-core', ratio: cpu, most: 2.6 },
	{ what: 'one call, two cores: p50', shape: 'two-cores', ratio: p50, most: 2.2 },
	{ what: '64 in flight: calls a second', shape: '64-in-flight', ratio: rate, least: 0.5 },
	{ what: '1024 in flight: calls a second', shape: '1024-in-flight', ratio: rate, least: 2 },
];

/** What is past its bound, as sentences; empty when all is well. Throws when a figure is missing: that is no pass. */
export function breaches(calls: BenchResults['calls']): string[] {
	return BOUNDS.flatMap(({ what, shape, ratio, most, least }) => {
		const spock = figureOf(calls, 'spock', shape);
		const echo = figureOf(calls, 'echo', shape);
		const value = ratio(spock, echo);
		if (spock.errors > 0) return [`${what}: ${spock.errors} calls failed`];
		if (most !== undefined && !(value <= most))
			return [`${what}: ${value.toFixed(2)} times the echo, the bound is ${most}`];
		if (least !== undefined && !(value >= least))
			return [`${what}: ${value.toFixed(2)} times the echo, the bound is ${least}`];
		return [];
	});
}

/** The load shapes that the bounds look at. */
export const CHECKED_SHAPES: ReadonlySet<ShapeId> = new Set(BOUNDS.map(({ shape }) => shape));

function figureOf(calls: BenchResults['calls'], contender: string, shape: ShapeId): CallFigure {
	const found = calls.find((figure) => figure.contender === contender && figure.shape === shape && !figure.busy);
	if (found === undefined) throw new Error(`${contender} was not measured under ${shape}`);
	return found;
}
