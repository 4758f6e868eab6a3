import { appendCases } from './append-cases.ts';
import type { Bench, ContractCase, StoreFixture } from './bench.ts';
import { readerCases } from './reader-cases.ts';

export type { ContractCase, StoreFixture } from './bench.ts';
export { MemoryStore, type MemoryStoreMistakes } from './memory-store.ts';
export { SimStore, type SimStoreOptions } from './sim-store.ts';

/** What the store is like. */
export interface StoreTraits {
	/** How long a case waits for what must happen, in milliseconds: well above what the store may take. Default 20000. */
	readonly patienceMs?: number;
	/** Has no readers: those of the fixture read what it feeds, and only what it promises of `append` is checked. Default false. */
	readonly isReadElsewhere?: boolean;
}

/**
 * What every store of events promises, as cases for a test runner. Each makes a fixture and closes it:
 *
 *     import { test } from 'node:test';
 *     for (const { name, run } of storeContract(makeFixture)) test(name, run);
 */
export function storeContract(
	makeFixture: () => StoreFixture | Promise<StoreFixture>,
	{ patienceMs = 20_000, isReadElsewhere = false }: StoreTraits = {},
): readonly ContractCase[] {
	return Object.entries({ ...appendCases, ...(isReadElsewhere ? {} : readerCases) }).map(([name, body]) => ({
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
function toBench(fixture: StoreFixture, patienceMs: number): Bench {
	return {
		store: fixture.store,
		patienceMs,
		events: (stream, count) => fixture.events(stream, count),
		...(fixture.eventsWithBad !== undefined && {
			eventsWithBad: (stream: string) => fixture.eventsWithBad?.(stream) ?? [],
		}),
		reopen: () => fixture.reopen(),
		...(fixture.lose !== undefined && {
			lose: (stream: string, from: number) => fixture.lose?.(stream, from),
		}),
		close: () => fixture.close(),
	};
}
