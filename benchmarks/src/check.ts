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

/** Twice as bad as the goals of docs/PERFORMANCE.md but where it says otherwise: a regression of kind is beyond them, what a shared machine does is not. */
export const BOUNDS: readonly Bound[] = [
	{ what: 'one call, one core: p50', shape: 'one-core', ratio: p50, most: 2.6 },
	{ what: 'one call, one core: CPU', shape: 'one-core', ratio: cpu, most: 2.6 },
	{ what: 'one call, two cores: p50', shape: 'two-cores', ratio: p50, most: 2.2 },
	{ what: '64 in flight: calls a second', shape: '64-in-flight', ratio: rate, least: 0.5 },
	// Four times as bad as the goal: on a machine with other work the echo's answers pile up and leave together, which nearly
	// doubles its calls. Without our own batching the product makes a third of its calls, and is past this bound as well.
	{ what: '1024 in flight: calls a second', shape: '1024-in-flight', ratio: rate, least: 1 },
];

/** A bound that was not kept, by its name, and how far it was missed. */
export interface Breach {
	readonly what: string;
	readonly sentence: string;
}

/** What is past its bound; empty when all is well. Throws when a figure is missing: that is no pass. */
export function breaches(calls: BenchResults['calls']): Breach[] {
	const breach = (what: string, how: string): Breach[] => [{ what, sentence: `${what}: ${how}` }];
	return BOUNDS.flatMap(({ what, shape, ratio, most, least }) => {
		const spock = figureOf(calls, 'spock', shape);
		const echo = figureOf(calls, 'echo', shape);
		const value = ratio(spock, echo);
		if (spock.errors > 0) return breach(what, `${spock.errors} calls failed`);
		const isKept = (most === undefined || value <= most) && (least === undefined || value >= least);
		return isKept ? [] : breach(what, `${value.toFixed(2)} times the echo, the bound is ${most ?? least}`);
	});
}

/** The load shapes that the bounds look at. */
export const CHECKED_SHAPES: ReadonlySet<ShapeId> = new Set(BOUNDS.map(({ shape }) => shape));

function figureOf(calls: BenchResults['calls'], contender: string, shape: ShapeId): CallFigure {
	const found = calls.find((figure) => figure.contender === contender && figure.shape === shape && !figure.busy);
	if (found === undefined) throw new Error(`${contender} was not measured under ${shape}`);
	return found;
}
