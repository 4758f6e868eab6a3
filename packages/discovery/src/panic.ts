import { isServing, type ServiceInstance } from '@spock/protocol';

/** True if less than this fraction of the instances is healthy; never for a fraction of 0, or where there are none. */
export function isPanic(instances: readonly ServiceInstance[], threshold: number): boolean {
	return threshold > 0 && instances.length > 0 && countHealthy(instances) / instances.length < threshold;
}

/** How many instances may be sent work. */
export function countHealthy(instances: readonly ServiceInstance[]): number {
	return instances.filter(isServing).length;
}
