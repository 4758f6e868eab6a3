import type { BenchResults } from '../results.ts';
import { formatCount, formatNumber, formatRatio } from './format-number.ts';
import type { GoalBounds, GoalPart } from './goal.ts';
import { GOAL_ROWS } from './goal-rows.ts';

/** How a measured value stands to its goal. */
export type GoalVerdict = 'goal' | 'floor' | 'missed' | 'not measured';

/** What a run says about one part of a goal. */
export interface GoalFinding {
	readonly figure: string;
	readonly part: GoalPart;
	readonly measured: number | undefined;
	readonly verdict: GoalVerdict;
}

/** Judges every part of every goal, in the order of {@link GOAL_ROWS}. */
export function judgeGoals(results: BenchResults): readonly GoalFinding[] {
	return GOAL_ROWS.flatMap((row) =>
		row.parts.map((part): GoalFinding => {
			const measured = part.measure(results);
			return { figure: row.figure, part, measured, verdict: judgeGoal(part, measured) };
		}),
	);
}

/** Judges one value. What is judged is the value as measured, not as rounded for the table. */
export function judgeGoal(part: GoalBounds, measured: number | undefined): GoalVerdict {
	if (measured === undefined || !Number.isFinite(measured)) return 'not measured';
	const holds = (bound: number): boolean => (part.wanted === 'at most' ? measured <= bound : measured >= bound);
	if (holds(part.goal)) return 'goal';
	return holds(part.floor) ? 'floor' : 'missed';
}

/** A measured value of a goal with its unit. */
export function formatGoalValue(part: GoalBounds, value: number): string {
	if (part.unit === 'count') return formatCount(value);
	if (part.unit !== 'ratio') return `${formatNumber(value)} ${part.unit}`;
	// Written like its bounds, so that they can be compared at a glance.
	return isFraction(part.goal) && value > 0 && value < 1 ? `1/${formatNumber(1 / value)}` : formatRatio(value);
}

/** A bound as a person writes it: `<= 1/24`, `>= 250x`, `<= 40 ns`. Exact, as it was set. */
export function formatGoalBound(part: GoalBounds, bound: number): string {
	if (part.unit === 'count' && bound === 0) return '0';
	const sign = part.wanted === 'at most' ? '<=' : '>=';
	if (part.unit === 'count') return `${sign} ${formatCount(bound)}`;
	if (part.unit !== 'ratio') return `${sign} ${bound} ${part.unit}`;
	return isFraction(bound) ? `${sign} 1/${Number((1 / bound).toPrecision(6))}` : `${sign} ${bound}x`;
}

/** A ratio up to a half was set as a fraction. */
function isFraction(bound: number): boolean {
	return bound > 0 && bound <= 0.5;
}
