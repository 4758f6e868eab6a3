import type { FlowBook } from './flow-app.ts';
import type { KillFigure } from './peers-results.ts';

/** What the store has, beside what apps have said. */
export function tally(
	book: Pick<FlowBook, 'called' | 'told'>,
	stored: readonly number[],
): Omit<KillFigure, 'target' | 'kills'> {
	const distinct = new Set(stored);
	return {
		lost: [...book.told].filter((number) => !distinct.has(number)).length,
		duplicated: timesOf(stored).filter((times) => times > 1).length,
		unfinished: [...book.called].filter((number) => !book.told.has(number) && !distinct.has(number)).length,
		told: book.told.size,
	};
}

function timesOf(numbers: readonly number[]): number[] {
	const times = new Map<number, number>();
	for (const number of numbers) times.set(number, (times.get(number) ?? 0) + 1);
	return [...times.values()];
}
