import { isServing, type ServiceInstance, type ServiceSnapshot } from '@spock/protocol';

/**
 * The instances of a snapshot that get work: the healthy ones (passing and warning), or in a panic all there are. Weight 0
 * is no share of the work under every policy, unless all that are left have it: an answer is better than none.
 */
export function servedInstances({
	instances,
	panic,
}: Pick<ServiceSnapshot, 'instances' | 'panic'>): readonly ServiceInstance[] {
	const serving = panic === true ? instances : instances.filter(isServing);
	if (serving.every(hasWeight)) return serving;
	const weighing = serving.filter(hasWeight);
	return weighing.length > 0 ? weighing : serving;
}

function hasWeight({ weight }: ServiceInstance): boolean {
	return weight > 0;
}
