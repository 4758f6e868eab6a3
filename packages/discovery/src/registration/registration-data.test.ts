import { REGISTRATION_ID_LENGTH_MAX } from '@spock/protocol';
import { describe, expect, it } from 'vitest';

import { definitionOf, healthOf } from './registration-data.ts';

const defaults = { advertise: undefined, zone: undefined, machine: 'pod-7' };

describe('what is to stand in the registry', () => {
	it('has defaults for what an app does not say', () => {
		expect(definitionOf({ service: 'barista', port: 80 }, defaults)).toEqual({
			id: 'barista-pod-7-80',
			service: 'barista',
			port: 80,
			tags: [],
			meta: {},
			bind: 'connection',
		});
		expect(definitionOf({ service: 'barista', port: 80 }, { ...defaults, advertise: '10.0.0.9' }).host).toBe(
			'10.0.0.9',
		);
		expect(definitionOf({ service: 'barista', port: 80 }, { ...defaults, zone: 'a' }).meta).toEqual({ zone: 'a' });
		expect(healthOf({})).toEqual({ status: 'passing', note: '' });
	});

	it('has all that an app says', () => {
		const said = {
			service: 'barista',
			id: 'b1',
			host: '10.0.0.1',
			port: 80,
			tags: ['v2'],
			meta: { zone: 'a' },
			weights: { passing: 7, warning: 3 },
			taggedAddresses: { wan: { host: '1.2.3.4', port: 80 } },
			check: { tcp: '127.0.0.1:80', intervalMs: 1000 },
			bind: 'sidecar',
		} as const;
		expect(definitionOf(said, { ...defaults, advertise: '10.0.0.9', zone: 'b' })).toEqual(said);
		expect(healthOf({ status: 'warning', note: 'queue is long' })).toEqual({
			status: 'warning',
			note: 'queue is long',
		});
	});

	it('has an id that can stand in one, and another one for another text', () => {
		const idOf = (host: string): string => definitionOf({ service: 'barista', port: 80, host }, defaults).id;
		expect(idOf('fe80::1%eth0')).not.toBe(idOf('fe80::1/eth0'));
		for (const host of ['fe80::1%eth0', 'h'.repeat(300), '[::1]']) expect(idOf(host)).toMatch(/^\w[\w.:@~+-]*$/);
		expect(idOf('h'.repeat(300)).length).toBe(REGISTRATION_ID_LENGTH_MAX);
	});
});
