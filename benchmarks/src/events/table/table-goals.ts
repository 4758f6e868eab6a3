import { median } from '../../load/samples.ts';
import type { EventsResults, PartId, RowFigure, RowId } from './table-results.ts';

/** What a row is to reach: a factor of the first row of the model, or of another row of its part. */
export interface RowGoal {
	readonly part: PartId;
	readonly row: RowId;
	readonly of: { readonly part: PartId; readonly row: RowId };
	/** In words. */
	readonly wanted: string;
	readonly isMet: (factor: number) => boolean;
}

const FIRST = { part: 'model', row: 'unary' } as const;

/** From the article, within 15 %: 1,140, 314 and 144 seconds for the same data. */
const ORIGINAL: readonly RowGoal[] = (
	[
		['stream-plain', 3.6],
		['stream-packed', 7.9],
	] as const
).map(([row, factor]) => ({
	...{ part: 'model', row, of: FIRST, wanted: `${factor}x ± 15 %` },
	isMet: (found) => found >= factor * 0.85 && found <= factor * 1.15,
}));

export const GOALS: readonly RowGoal[] = [
	...ORIGINAL,
	{ part: 'model', row: 'events-plain', of: FIRST, ...atLeast(3.5) },
	{ part: 'model', row: 'events-packed', of: FIRST, ...atLeast(10, 12) },
	{ part: 'unlimited', row: 'events-plain', of: FIRST, ...atLeast(15, 30) },
	{ part: 'slow', row: 'events-packed', of: { part: 'slow', row: 'stream-packed' }, ...atLeast(1.3) },
];

function atLeast(floor: number, goal?: number): Pick<RowGoal, 'wanted' | 'isMet'> {
	const wanted = goal === undefined ? `at least ${floor}x` : `at least ${floor}x, goal ${goal}x`;
	return { wanted, isMet: (found) => found >= floor };
}

/** The rounds of a row; undefined if it was not measured. */
export function figureOf(results: EventsResults, part: PartId, row: RowId): RowFigure | undefined {
	return results.figures.find((figure) => figure.part === part && figure.row === row);
}

/** Messages a second, in MB as the app has them: the median of the rounds. NaN if it was not measured. */
export function speedOf(results: EventsResults, part: PartId, row: RowId): number {
	const { rounds = [] } = figureOf(results, part, row) ?? {};
	return median(rounds.map(({ bytes, seconds }) => bytes / 1e6 / seconds));
}

/** What a row is to another one; NaN if one of them was not measured. */
export function factorOf(results: EventsResults, { part, row, of }: Pick<RowGoal, 'part' | 'row' | 'of'>): number {
	return speedOf(results, part, row) / speedOf(results, of.part, of.row);
}
