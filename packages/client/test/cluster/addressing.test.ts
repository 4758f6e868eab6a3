import { describe, expect, it } from 'vitest';

import {
	type HealthEntry,
	hostOf,
	instanceId,
	isOf,
	portOf,
	print,
	printEntries,
	serviceName,
	servingIn,
} from './addressing.ts';

const addressOf = (service: number, instance: number) => ({
	host: hostOf(service, instance),
	port: portOf(service),
	instance: `node-${instance}/${instanceId(service, instance)}`,
});

const entry = (status: 'passing' | 'warning' | 'critical', round: string): HealthEntry => ({
	Node: { Node: 'node-1', Address: '10.255.255.2' },
	Service: { ID: instanceId(300, 1), Address: hostOf(300, 1), Port: portOf(300), Meta: { round } },
	Checks: [{ Status: 'passing' }, { Status: status }],
});

describe('addresses of the cluster suite', () => {
	it('an instance belongs to its service and to no other, by host, by port and by id', () => {
		const services = [0, 1, 10, 100, 255, 256, 300, 999];
		for (const asked of services) {
			for (const given of services) expect(isOf(serviceName(asked), addressOf(given, 3))).toBe(asked === given);
			const [right, other] = [addressOf(asked, 3), addressOf(asked + 1, 3)];
			for (const member of ['host', 'port', 'instance'] as const) {
				expect(isOf(serviceName(asked), { ...right, [member]: other[member] })).toBe(false);
			}
		}
	});

	it("Consul's entries and a client's instances print alike, and any difference shows", () => {
		const instance = { ...addressOf(300, 1), status: 'warning', meta: { round: '7' } } as const;
		expect(print([instance])).toBe(printEntries([entry('warning', '7')]));
		expect(print([instance])).not.toBe(printEntries([entry('warning', '8')]));
		expect(print([instance])).not.toBe(printEntries([entry('critical', '7')]));
		expect(print([])).not.toBe(print([instance]));
	});

	it('only instances that get work are expected of lookups', () => {
		expect(servingIn(printEntries([entry('warning', '7')]))).toEqual(['node-1/svc-0300-1']);
		expect(servingIn(printEntries([entry('critical', '7')]))).toEqual([]);
		expect(servingIn('')).toEqual([]);
	});
});
