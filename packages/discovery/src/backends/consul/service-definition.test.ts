import { describe, expect, it } from 'vitest';

import type { InstanceDefinition } from '../../foundation/registrar.ts';
import { type AgentService, readOwned, toServiceDefinition } from './service-definition.ts';

const terms = { ttlMs: 15_000, deregisterAfterMs: 600_000, owner: 'me' };
const plain: InstanceDefinition = { id: 'b1', service: 'barista', port: 80, tags: [], meta: {}, bind: 'connection' };
const full: InstanceDefinition = {
	...plain,
	host: '10.0.0.1',
	tags: ['v2'],
	meta: { zone: 'eu-1a' },
	weights: { passing: 7, warning: 0 },
	taggedAddresses: { wan: { host: '1.2.3.4', port: 81 } },
	bind: 'sidecar',
	claimant: 'a-hash',
	app: 'node/till',
};

/** The definition as an agent would list it. */
function listed(definition: InstanceDefinition): AgentService {
	const { Name, ...body } = toServiceDefinition(definition, { status: 'passing', note: '' }, terms);
	return { ...(body as unknown as AgentService), Service: Name as string };
}

describe('the definition of a service', () => {
	it('of little has the defaults of Consul, no address, and a check with a time to live', () => {
		expect(toServiceDefinition(plain, { status: 'warning', note: '' }, terms)).toEqual({
			ID: 'b1',
			Name: 'barista',
			Address: '',
			Port: 80,
			Tags: [],
			Meta: { 'spock-owner': 'me', 'spock-bind': 'connection' },
			Weights: { Passing: 1, Warning: 1 },
			TaggedAddresses: {},
			EnableTagOverride: false,
			Checks: [
				{
					CheckID: 'service:b1',
					Name: 'the app is connected to its sidecar',
					TTL: '15000ms',
					Status: 'warning',
					DeregisterCriticalServiceAfter: '600000ms',
				},
			],
		});
	});

	it('has the check of the app beside the one of the sidecar', () => {
		const checksOf = (check: NonNullable<InstanceDefinition['check']>): unknown => {
			const { Checks } = toServiceDefinition({ ...plain, check }, { status: 'passing', note: '' }, terms);
			return (Checks as unknown[])[1];
		};
		expect(checksOf({ http: 'http://a/health' })).toEqual({
			CheckID: 'service:b1:check',
			Name: 'GET http://a/health',
			HTTP: 'http://a/health',
			Interval: '10000ms',
			Timeout: '5000ms',
		});
		expect(checksOf({ tcp: 'a:1', intervalMs: 1000, timeoutMs: 100 })).toMatchObject({
			TCP: 'a:1',
			Interval: '1000ms',
			Timeout: '100ms',
		});
	});
});

describe('what an agent lists', () => {
	const checks = { 'service:b1': { Node: 'n', Status: 'warning', Output: 'queue is long' } };

	it.each([
		['little', plain],
		['everything', full],
	])('is what was registered: %s', (_, definition) => {
		const { definition: read, instance, health } = readOwned(listed(definition), checks);
		expect(read).toEqual({ weights: { passing: 1, warning: 1 }, isPartial: true, ...definition });
		expect(instance).toBe('n/b1');
		expect(health).toEqual({ status: 'warning', note: 'queue is long' });
	});

	it('may have nulls, and no check that this token may see', () => {
		const { definition, instance, health } = readOwned({ ID: 'b1', Service: 'barista', Tags: null, Meta: null }, {});
		expect(definition).toMatchObject({ port: 0, tags: [], meta: {}, bind: 'connection' });
		expect({ instance, health }).toEqual({ instance: null, health: { status: 'passing', note: '' } });
	});

	it('critical because nobody renewed it is no word of the app', () => {
		const expired = {
			'service:b1': { Status: 'critical', Output: 'TTL expired (last output before timeout follows): x' },
		};
		expect(readOwned(listed(full), expired).health).toEqual({ status: 'passing', note: '' });
	});
});
