import { describe, expect, it } from 'vitest';

import { coresIn, placements } from './processor-cores.ts';

describe('coresIn', () => {
	it.each([
		['0', [0]],
		['0-3', [0, 1, 2, 3]],
		['2,5', [2, 5]],
		['0-1,4,8-10', [0, 1, 4, 8, 9, 10]],
	])('reads the list %s', (list, cores) => {
		const status = `Name:\tnode\nCpus_allowed:\tff\nCpus_allowed_list:\t${list}\nMems_allowed_list:\t0-7\n`;
		expect(coresIn(status)).toEqual(cores);
	});

	it('takes the first core where the kernel tells nothing', () => {
		expect(coresIn('Name:\tnode\n')).toEqual([0]);
	});
});

describe('placements', () => {
	it('leave the first core to the rest of the machine where there are three', () => {
		expect(placements([4, 5, 6, 7])).toEqual({
			one: { server: [6], client: [6] },
			two: { server: [5], client: [6] },
			any: { server: [4, 5, 6, 7], client: [4, 5, 6, 7] },
		});
		expect(placements([0, 1, 2]).two).toEqual({ server: [1], client: [2] });
	});

	it('use both of two cores', () => {
		expect(placements([0, 1])).toEqual({
			one: { server: [1], client: [1] },
			two: { server: [0], client: [1] },
			any: { server: [0, 1], client: [0, 1] },
		});
	});

	it('put everything on the only one', () => {
		const both = { server: [3], client: [3] };
		expect(placements([3])).toEqual({ one: both, two: both, any: both });
	});
});
