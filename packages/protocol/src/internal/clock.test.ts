import { syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers';

import { expect, it, vi } from 'vitest';

import { clearImmediate, setImmediate, systemClock } from './clock.ts';

const NEVER = (): never => expect.fail('a fake of a test was called');

/** As fake timers of tests do it: the globals, and what a CommonJS module sees at each call of `node:timers`. */
async function withFakes(call: () => Promise<void>): Promise<void> {
	const { setTimeout, clearTimeout, setImmediate, clearImmediate } = timers;
	const fakes = { setTimeout: NEVER, clearTimeout: NEVER, setImmediate: NEVER, clearImmediate: NEVER };
	Object.assign(timers, fakes);
	syncBuiltinESMExports();
	vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'clearImmediate', 'Date', 'performance'] });
	try {
		await call();
	} finally {
		vi.useRealTimers();
		Object.assign(timers, { setTimeout, clearTimeout, setImmediate, clearImmediate });
		syncBuiltinESMExports();
	}
}

it('is the clock of Node, also while a test has put fakes in the place of its timers', async () => {
	await withFakes(async () => {
		systemClock.clearTimeout(systemClock.setTimeout(NEVER, 0));
		await new Promise<void>((resolve) => systemClock.setTimeout(resolve, 1));
		clearImmediate(setImmediate(NEVER));
		await new Promise<void>((resolve) => setImmediate(resolve));
	});
});
