import { awayCases } from './away-cases.ts';
import type { BackendFixture, BackendTraits, Bench, Cases, ContractCase } from './bench.ts';
import { lifeCases, listCases } from './list-and-life-cases.ts';
import { watchCases } from './watch-cases.ts';

export type { BackendFixture, BackendTraits, ContractCase, ContractInstance } from './bench.ts';

/**
 * What every backend promises, as cases for a test runner. Each makes a fixture and closes it:
 *
 *     import { test } from 'node:test';
 *     for (const { name, run } of backendContract(makeFixture)) test(name, run);
 */
export function backendContract(
	makeFixture: () => BackendFixture | Promise<BackendFixture>,
	{ canBeAway = true, canList = true, patienceMs = 20_000 }: BackendTraits = {},
): readonly ContractCase[] {
	const cases: Cases = {
		...watchCases,
		...listCases(canList),
		...(canBeAway && awayCases(canList)),
		...lifeCases(canList),
	};
	return Object.entries(cases).map(([name, body]) => ({
		name,
		run: async () => {
			const fixture = await makeFixture();
			try {
				await body(toBench(fixture, patienceMs));
			} finally {
				await fixture.close();
			}
		},
	}));
}

/** With functions that stand alone: a fixture may be an object of a class. */
function toBench(fixture: BackendFixture, patienceMs: number): Bench {
	return {
		backend: fixture.backend,
		patienceMs,
		setService: (service, instances) => fixture.setService(service, instances),
		...(fixture.setReachable !== undefined && {
			setReachable: (isReachable: boolean) => fixture.setReachable?.(isReachable),
		}),
		close: () => fixture.close(),
	};
}
