import * as grpc from '@grpc/grpc-js';
import type { ServiceSnapshot } from '@spock/client';
import { fakeSnapshot } from '@spock/testkit';
import { expect, it } from 'vitest';

import { addressesOf } from './service-addresses.ts';

/** The key of what a channel is told of a service with an instance of each name, at an address of its own. */
function keyOf(names: readonly string[]): string {
	const hosts = names.map((_, index) => `10.0.0.${index + 1}:80`);
	const { instances, ...rest } = fakeSnapshot('barista', 1, hosts);
	const snapshot: ServiceSnapshot = {
		...rest,
		instances: instances.map((one, index) => ({ ...one, instance: names[index] ?? '' })),
	};
	return addressesOf(grpc, snapshot, () => new Set()).key;
}

it('a name cannot be written so that one instance looks like two: a channel would not be told of the second', () => {
	expect(keyOf(['a,10.0.0.2:80=b'])).not.toBe(keyOf(['a', 'b']));
	expect(keyOf(['a', 'b'])).toBe(keyOf(['a', 'b']));
});
