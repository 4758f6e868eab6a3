import { bundle } from './bundle.ts';
import { MUTANTS, type Mutant } from './mutants.ts';
import type { SeedResult } from './run-seed.ts';
import { runSeeds } from './run-seeds.ts';

/** What became of one planted bug. */
export interface MutantOutcome {
	readonly mutant: Mutant;
	/** The seed that found it; undefined if none did. */
	readonly found: SeedResult | undefined;
	/** Seeds that were run, that one included. */
	readonly seeds: number;
	readonly elapsedMs: number;
}

/** Options of {@link tryMutants}. */
export interface TryMutantsOptions {
	readonly root: string;
	readonly jobs: number;
	/** Most seeds for each bug. */
	readonly seedsMax: number;
	/** The recorded seeds alone: quick, and enough to see that each is still found. */
	readonly isQuick: boolean;
	/** Only bugs whose name holds one of these texts; with none, all. */
	readonly names: readonly string[];
	/** Every Nth of them, from the Kth on: [K, N]. */
	readonly share: readonly [turn: number, of: number];
	readonly tried: (outcome: MutantOutcome) => void;
}

/** Plants each bug and runs seeds until one finds it. */
export async function tryMutants(options: TryMutantsOptions): Promise<MutantOutcome[]> {
	const { jobs, names } = options;
	const [turn, of] = options.share;
	const left = MUTANTS.map((mutant, number) => ({ mutant, number }))
		.filter(({ mutant }) => names.length === 0 || names.some((name) => mutant.name.includes(name)))
		.filter((_, at) => (at + turn) % of === 0);
	const outcomes: MutantOutcome[] = [];
	const work = async (): Promise<void> => {
		for (let next = left.shift(); next !== undefined; next = left.shift()) {
			const outcome = await tryOne(next.mutant, next.number, options);
			outcomes.push(outcome);
			options.tried(outcome);
		}
	};
	await Promise.all(Array.from({ length: jobs }, work));
	return outcomes.sort((left, right) => MUTANTS.indexOf(left.mutant) - MUTANTS.indexOf(right.mutant));
}

async function tryOne(mutant: Mutant, number: number, options: TryMutantsOptions): Promise<MutantOutcome> {
	const startedMs = performance.now();
	const program = await bundle(options.root, `mutant-${number}`, mutant);
	const others = Array.from({ length: options.seedsMax }, (_, at) => at + 1).filter((seed) => seed !== mutant.seed);
	let found: SeedResult | undefined;
	let seeds = 0;
	await runSeeds(options.isQuick ? [mutant.seed] : [mutant.seed, ...others], {
		program,
		jobs: 1,
		ran: (result) => {
			seeds++;
			if (result.violation !== undefined) found = result;
			return found !== undefined;
		},
	});
	return { mutant, found, seeds, elapsedMs: performance.now() - startedMs };
}

/** The table of docs/TESTING.md. */
export function mutantTable(outcomes: readonly MutantOutcome[]): string {
	const rows = outcomes.map(({ mutant, found, seeds, elapsedMs }) => {
		const by = found?.violation?.invariant ?? '**not found**';
		return `| ${mutant.name} | \`${mutant.file}\` | ${by} | ${seeds} | ${(elapsedMs / 1000).toFixed(1)} |`;
	});
	return ['| planted bug | where | found by | seeds | s |', '|---|---|---|---|---|', ...rows].join('\n');
}
