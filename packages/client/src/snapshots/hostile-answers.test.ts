import { type ServiceInstance, type ServiceQuery, SpockError } from '@spock/protocol';
import { fakeSnapshot, settle } from '@spock/testkit';
import { anyHost, anyMeta, anyName, anyPort, anyTags, anyText, possibleName } from '@spock/testkit/hostile-arbitraries';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { simulate } from '../../test/simulated-client.ts';
import { readSnapshot } from './read-snapshot.ts';

const anyInstance = fc.oneof(
	fc.record(
		{
			...{ instance: anyText, host: anyHost, port: anyPort, weight: anyPort, status: anyText },
			...{ tags: anyTags, meta: anyMeta, zone: anyText, datacenter: anyText },
		},
		{ requiredKeys: [] },
	),
	fc.record({ instance: possibleName, host: anyHost, port: fc.constant(80) }),
	fc.record({ instance: possibleName, host: fc.constant('10.0.0.1'), port: anyPort }),
	anyText,
);

function isWhole({ instance, host, port, weight, tags, meta, zone, datacenter }: ServiceInstance): boolean {
	const texts = [instance, host, ...tags, ...Object.values(meta)];
	return (
		texts.every((text) => typeof text === 'string') &&
		host !== '' &&
		Number.isInteger(port) &&
		port >= 0 &&
		port <= 65_535 &&
		Number.isFinite(weight) &&
		weight >= 0 &&
		[zone, datacenter].every((text) => text === null || typeof text === 'string')
	);
}

describe('what a sidecar says of a service', () => {
	it('is read whole, or is PROTOCOL, whatever stands in it', () => {
		const data = fc.record(
			{
				...{ service: fc.oneof(anyName, anyText), tags: anyTags, datacenter: anyText, meta: anyMeta, peer: anyText },
				...{ revision: fc.oneof(fc.nat(), anyPort), source: anyText, ageMs: anyPort, verifiedAt: anyPort },
				instances: fc.oneof({ weight: 9, arbitrary: fc.array(anyInstance, { maxLength: 4 }) }, anyText),
			},
			{ requiredKeys: ['service', 'revision', 'instances'] },
		);
		fc.assert(
			fc.property(data, (told) => {
				try {
					const { instances, tags = [], meta = {} } = readSnapshot(JSON.parse(JSON.stringify(told)));
					for (const one of instances) expect([one, isWhole(one)]).toEqual([one, true]);
					for (const text of [...tags, ...Object.values(meta)]) expect(typeof text).toBe('string');
				} catch (error) {
					expect(SpockError.is(error, 'PROTOCOL'), String(error)).toBe(true);
				}
			}),
			{ numRuns: 2000 },
		);
	});

	it('what cannot be read leaves nothing live of before: the caller sees that it is old, or has the newest', async () => {
		await fc.assert(
			fc.asyncProperty(fc.array(anyInstance, { minLength: 1, maxLength: 3 }), async (instances) => {
				const { diplomat, sidecar } = await simulate();
				sidecar.publish(fakeSnapshot('barista', 1, ['10.9.9.9:80']));
				await diplomat.getService('barista');
				// The next answers to questions are as broken as the push: a sidecar that reads so from its registry.
				const broken = { ...fakeSnapshot('barista', 2, ['10.0.0.2:80']) };
				const told = { ...broken, instances: [...broken.instances, ...instances] };
				sidecar.options = {
					handle: ({ func }) => (func === 'watchService' || func === 'getInstances' ? { data: told } : undefined),
				};
				sidecar.connection.push('service', told);
				await settle();
				const { source, revision } = await diplomat.getInstances('barista');
				expect([told.instances, source === 'live' && revision < 2]).toEqual([told.instances, false]);
				const address = diplomat.pick('barista');
				if (address?.host === '10.9.9.9') expect([told.instances, address.stale]).toEqual([told.instances, true]);
				await diplomat.close();
			}),
			{ numRuns: 200 },
		);
	});
});

const anyQuery: fc.Arbitrary<ServiceQuery> = fc.record(
	{
		service: anyName,
		tags: fc.array(anyName, { maxLength: 2 }),
		meta: fc.dictionary(anyName, anyName, { maxKeys: 2 }),
	},
	{ requiredKeys: ['service'] },
);

function meaning({ service, tags = [], meta = {} }: ServiceQuery): string {
	const conditions = Object.entries(meta).sort(([left], [right]) => (left < right ? -1 : 1));
	return JSON.stringify([service, [...new Set(tags)].sort(), conditions]);
}

describe('lookups of hostile names', () => {
	it('are answered with what is of that name, or refused with BAD_REQUEST: one never gets the answer of another', async () => {
		await fc.assert(
			fc.asyncProperty(fc.array(anyQuery, { minLength: 1, maxLength: 6 }), async (some) => {
				// The keys of the others as names: of this version, and of the one before it.
				const asked = [
					...some,
					...some.map(({ service }) => ({ service })),
					...some.map(({ service, tags = [] }) => ({
						service: `${service}\n${JSON.stringify([[...tags].sort(), null, null, null])}`,
					})),
				];
				const ports = new Map([...new Set(asked.map(meaning))].map((one, at) => [one, at + 1]));
				const { diplomat } = await simulate(
					{},
					{
						handle: ({ func, data }) => {
							if (func !== 'watchService') return undefined;
							const query = data as ServiceQuery;
							const port = ports.get(meaning(query));
							return { data: { ...fakeSnapshot('', 1, [`10.0.0.1:${port}`]), ...query } };
						},
					},
				);
				for (const query of asked) {
					const answer = await diplomat.getService(query).catch((error: unknown) => error);
					if (SpockError.is(answer, 'BAD_REQUEST') || answer instanceof TypeError) continue;
					expect([query, (answer as { port?: number }).port]).toEqual([query, ports.get(meaning(query))]);
					expect(diplomat.pick(query)?.port).toBe(ports.get(meaning(query)));
				}
				await diplomat.close();
			}),
			{ numRuns: 200 },
		);
	});
});
