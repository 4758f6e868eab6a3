import { describe, expect, it } from 'vitest';

import { connectionsWithin, withinOpenFiles } from './start-limits.ts';

const line = (soft: string): string =>
	`Limit                     Soft Limit           Hard Limit           Units     \nMax open files            ${soft}                  1048576              files     \n`;

describe('connections within the limit of open files', () => {
	it.each([
		['1048576', 2_000_000, 1024, 1_047_296, 1024],
		['1048576', 2_000_000, 100_000, 948_320, 100_000],
		['65536', 10_000, 1024, 10_000, 1024],
		['65536', 10_000, 100_000, 10_000, 55_280],
		['1024', 10_000, 1024, 512, 256],
		['1024', 10, 1024, 10, 758],
		['160', 10_000, 1024, 80, 40],
		['1', 10_000, 1024, 1, 1],
	])('of %s files, asked for %i and %i, %i may be clients and %i strangers', (files, clients, others, ...most) => {
		const asked = { connectionsMax: clients, strangersMax: others };
		const [connectionsMax, strangersMax] = most;
		expect(connectionsWithin(line(files), asked)).toEqual({ connectionsMax, strangersMax });
	});

	it('there is no bound where the system tells none', () => {
		const asked = { connectionsMax: 1_000_000, strangersMax: 1_000_000 };
		expect(connectionsWithin('', asked)).toEqual(asked);
		expect(connectionsWithin(line('unlimited'), asked)).toEqual(asked);
	});

	it('warns of a setting that is more than the process may have open, and keeps the other limits', () => {
		const said: unknown[] = [];
		const log = { info: () => undefined, warn: (_: unknown, sentence?: unknown) => said.push(sentence) };
		const limits = withinOpenFiles({ connectionsMax: 1_000_000_000, graceMs: 5 }, log as never);
		expect(limits.graceMs).toBe(5);
		// Not on a system that tells no limit.
		if (process.platform === 'linux') expect(said).toEqual([expect.stringContaining('ulimit -n')]);
		expect(withinOpenFiles({ connectionsMax: 1 }, log as never)).toMatchObject({ connectionsMax: 1 });
	});
});
