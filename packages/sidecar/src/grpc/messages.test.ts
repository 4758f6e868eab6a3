import type { MethodDefinition } from '@grpc/grpc-js';
import { queryMembers } from '@spock/protocol/internal';
import { describe, expect, it } from 'vitest';

import { serviceDefinition } from './definitions.ts';
import { DISCOVERY, type QueryMessage, questionOf } from './messages.ts';

const asFields = { name: 'x', names: ['x', 'y'], pairs: [{ key: '__proto__', value: 'x' }] };
const asMembers = { name: 'x', names: ['x', 'y'], pairs: JSON.parse('{"__proto__":"x"}') as object };

describe.each(['Get', 'Watch', 'Explain'])('the request of %s', (method) => {
	const { requestSerialize, requestDeserialize } = serviceDefinition(DISCOVERY)[method] as MethodDefinition<
		object,
		unknown
	>;
	const overTheWire = (fields: object): object =>
		questionOf(requestDeserialize(requestSerialize(fields)) as QueryMessage);

	it.each(queryMembers)('has a field for $name', ({ name, kind }) => {
		const asked = overTheWire({ service: 'a', [name]: asFields[kind] });
		expect(Object.entries(asked)).toEqual([
			['service', 'a'],
			[name, asMembers[kind]],
		]);
	});

	it('asks for nothing that was not given', () => expect(overTheWire({ service: 'a' })).toEqual({ service: 'a' }));
});
