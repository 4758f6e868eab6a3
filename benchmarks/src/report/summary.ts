import type { BenchResults, ShapeId } from '../results.ts';
import { SHAPES } from '../results.ts';
import { formatGoalBound, formatGoalValue, judgeGoals } from './goals.ts';

/** What a run found, for a terminal: every load with its contenders, and how the goals were met. */
export function renderSummary(results: BenchResults): string {
	const lines: string[] = [];
	for (const busy of [false, true]) {
		for (const shape of Object.keys(SHAPES) as ShapeId[]) {
			const figures = results.calls.filter((figure) => figure.shape === shape && figure.busy === busy);
			if (figures.length === 0) continue;
			lines.push('', `${SHAPES[shape]}${busy ? ', busy node' : ''}`);
			for (const { label, p50Us, p99Us, callsPerSecond, cpuUs, errors } of figures) {
				const figuresOfLine = [
					`p50 ${p50Us.toFixed(1)} µs`.padStart(16),
					`p99 ${p99Us.toFixed(1)} µs`.padStart(17),
					`${Math.round(callsPerSecond)}/s`.padStart(12),
					`CPU ${cpuUs.toFixed(1)} µs`.padStart(15),
				];
				lines.push(`  ${label.padEnd(44)}${figuresOfLine.join('')}${errors > 0 ? `  ${errors} ERRORS` : ''}`);
			}
		}
	}
	lines.push('', 'goals');
	for (const { figure, part, measured, verdict } of judgeGoals(results)) {
		if (measured === undefined) continue;
		const bounds = `floor ${formatGoalBound(part, part.floor)}, goal ${formatGoalBound(part, part.goal)}`;
		lines.push(
			`  ${verdict.padEnd(7)} ${formatGoalValue(part, measured).padStart(12)}  ${figure} — ${part.what} (${bounds})`,
		);
	}
	return lines.join('\n');
}
