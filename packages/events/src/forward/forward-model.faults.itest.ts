import { describe, expect, it } from 'vitest';

import { runForwarding } from '../../test/forward-model.ts';

const RUNS = 5000;

describe('forwarding under thousands of random schedules', () => {
	it(`stores every event once and in order, and parks every refused one once, in ${RUNS} runs`, async () => {
		expect(await runForwarding(RUNS)).toBe('');
	});
});
