import type { BenchResults } from '../results.ts';

/** The unit of a goal, which says how its values are written. */
export type GoalUnit = 'ratio' | 'ns' | 'ms' | 'ms CPU' | 's' | '% of a core' | 'B' | 'KB' | 'MB' | 'count';

/** Two bounds of a figure, both inclusive. */
export interface GoalBounds {
	readonly unit: GoalUnit;
	/** Which side of the bounds is the good one. */
	readonly wanted: 'at most' | 'at least';
	/** Less is a defect. */
	readonly floor: number;
	/** What was aimed at. Equal to the floor where nothing beyond it is wanted. */
	readonly goal: number;
}

/** One figure with its bounds. */
export interface GoalPart<Results = BenchResults> extends GoalBounds {
	/** What is measured, and against what. */
	readonly what: string;
	/** The value in `unit`; undefined when the run did not measure it. */
	readonly measure: (results: Results) => number | undefined;
}

/** Goals that belong together. */
export interface GoalRow {
	readonly figure: string;
	readonly parts: readonly GoalPart[];
}
