import type { ServiceInstance } from '@spock/protocol';

/** So many passing instances at one port, each at another address. */
export function manyInstances(count: number, port: number): ServiceInstance[] {
	return Array.from({ length: count }, (_, index) =>
		Object.freeze({
			instance: `node-${String(index).padStart(5, '0')}/service-${index}`,
			host: `10.1.${index >> 8}.${index & 255}`,
			port,
			weight: 1,
			status: 'passing',
			tags: [],
			meta: {},
			zone: null,
			datacenter: 'dc1',
		}),
	);
}
