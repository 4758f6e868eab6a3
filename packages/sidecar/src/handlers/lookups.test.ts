import { fakeInstance, fakeSnapshot } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { instanceChooser } from './lookups.ts';

describe('the choice of an instance for getService', () => {
	const instances = ['a', 'b', 'b', 'b'].map((zone, index) => fakeInstance(`i-${index}`, { zone }));
	const snapshot = { ...fakeSnapshot('barista', 1, []), instances };
	const picks = (zone?: string): number[] => {
		const choose = instanceChooser('round-robin', () => 0, zone === undefined ? {} : { zone });
		const chosen = Array.from({ length: 1000 }, () => choose(snapshot, {}).instance);
		return instances.map(({ instance }) => Math.round(chosen.filter((name) => name === instance).length / 10));
	};

	it('follows the zone of the sidecar where that is preferred', () => {
		expect(picks()).toEqual([25, 25, 25, 25]);
		expect(picks('a')).toEqual([50, 17, 17, 17]);
		expect(picks('b')).toEqual([0, 33, 33, 33]);
	});
});
