import type { ServiceInstance } from '@spock/protocol';

/** What an instance takes in memory beside its texts, measured with 200 of them: objects, and its part of the lines of its service. */
const INSTANCE_BYTES = 900;
/** The same, of each tag and each member of its metadata. */
const PART_BYTES = 40;
/** A text is there itself, and in a line of the service. */
const COPIES = 2;

/** By the instance, which stays the same object from one answer to the next while it does not change. */
const known = new WeakMap<ServiceInstance, number>();

/** About how many bytes of memory the instances of an answer take. */
export function bytesOfInstances(instances: readonly ServiceInstance[]): number {
	let bytes = 0;
	for (const instance of instances) {
		const own = known.get(instance) ?? bytesOf(instance);
		known.set(instance, own);
		bytes += own;
	}
	return bytes;
}

function bytesOf({ instance, host, tags, meta }: ServiceInstance): number {
	let parts = tags.length;
	let text = instance.length + host.length;
	for (const tag of tags) text += tag.length;
	for (const name in meta) {
		parts++;
		text += name.length + (meta[name]?.length ?? 0);
	}
	return INSTANCE_BYTES + parts * PART_BYTES + text * COPIES;
}
