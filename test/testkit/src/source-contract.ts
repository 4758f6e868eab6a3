import { describe } from 'vitest';

import { testAnswers } from './source-contract/answers.ts';
import { testEnd } from './source-contract/end.ts';
import type { MakeFixture, SourceTraits } from './source-contract/fixture.ts';
import { testOutages } from './source-contract/outages.ts';
import { testWatches } from './source-contract/watches.ts';

/** What every ServiceSource promises. Each test makes a fixture of its own. */
export function describeSourceContract(name: string, makeFixture: MakeFixture, traits: SourceTraits = {}): void {
	describe(`${name} keeps the contract of a ServiceSource`, () => {
		testAnswers(makeFixture, traits);
		testWatches(makeFixture);
		testOutages(makeFixture, traits);
		testEnd(makeFixture, traits);
	});
}
