import type { FlowBook } from './flow-app.ts';
import type { KillFigure } from './peers-results.ts';

/** What the store has, beside what apps have said. */
export function tally(
	book: Pick<FlowBook, 'called' | 'acknowledged'>,
	stored: readonly number[],
): Omit<KillFigure, 'target' | 'kills'> {
	const distinct = new Set(stored);
	return {
		lost: [...book.acknowledged].filter((number) => !distinct.has(number)).length,
		duplicated: timesOf(stored).filter((times) => times > 1).length,
		unfinished: [...book.called].filter((number) => !book.acknowledged.has(number) && !distinct.has(number)).length,
		acknowledged: book.acknowledged.size,
	};
}

function timesOf(numbers: readonly number[]): number[] {
	const times = new Map<number, number>();
	for (const number of numbers) times.set(number, (times.get(number) ?? 0) + 1);
	return [...times.values()];
}
