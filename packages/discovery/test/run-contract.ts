import { describe, it } from 'vitest';

import { type BackendFixture, type BackendTraits, backendContract } from '../src/contract/index.ts';

/** The contract of a backend, as tests of ours. */
export function describeBackendContract(
	name: string,
	makeFixture: () => BackendFixture | Promise<BackendFixture>,
	traits: BackendTraits = {},
): void {
	describe(`${name} keeps the contract of a Backend`, () => {
		for (const { name: promise, run } of backendContract(makeFixture, traits)) it(promise, run);
	});
}
