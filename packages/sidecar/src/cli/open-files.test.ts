import { describe, expect, it } from 'vitest';

import { connectionsWithin, withinOpenFiles } from './open-files.ts';

const line = (soft: string): string =>
	`Limit                     Soft Limit           Hard Limit           Units     \nMax open files            ${soft}                  1048576              files     \n`;

describe('connections within the limit of open files', () => {
	it.each([
		['1048576', 1_048_320],
		['1024', 768],
		['160', 80],
		['1', 1],
	])('of %s files %i may be clients', (files, connections) => {
		expect(connectionsWithin(line(files))).toBe(connections);
	});

	it('there is no bound where the system tells none', () => {
		expect(connectionsWithin('')).toBeUndefined();
		expect(connectionsWithin(line('unlimited'))).toBeUndefined();
	});

	it('warns of a setting that is more than the process may have open, and keeps the other limits', () => {
		const said: unknown[] = [];
		const log = { info: () => undefined, warn: (_: unknown, sentence?: unknown) => said.push(sentence) };
		const limits = withinOpenFiles({ connectionsMax: 1_000_000_000, graceMs: 5 }, log as never);
		expect(limits.graceMs).toBe(5);
		// Not on a system that tells no limit.
		if (process.platform === 'linux') expect(said).toEqual([expect.stringContaining('ulimit -n')]);
		expect(withinOpenFiles({ connectionsMax: 1 }, log as never)).toEqual({ connectionsMax: 1 });
	});
});
