import { describe, expect, it } from 'vitest';

import type { InstanceDefinition } from '../../foundation/registrar.ts';
import { outdatedChecks, renewedCheck } from './instance-checks.ts';
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
					CheckID: 'spock:ttl:b1',
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
			CheckID: 'spock:http:b1',
			Name: 'GET http://a/health',
			HTTP: 'http://a/health',
			Interval: '10000ms',
			Timeout: '5000ms',
		});
		expect(checksOf({ tcp: 'a:1', intervalMs: 1000, timeoutMs: 100 })).toMatchObject({
			CheckID: 'spock:tcp:b1',
			TCP: 'a:1',
			Interval: '1000ms',
			Timeout: '100ms',
		});
	});
});

describe('what an agent lists', () => {
	const checks = { 'spock:ttl:b1': { Node: 'n', Status: 'warning', Output: 'queue is long' } };

	it.each([
		['little', plain],
		['everything', full],
	])('is what was registered: %s', (_, definition) => {
		const { definition: read, instance, health } = readOwned(listed(definition), checks);
		expect(read).toEqual({ weights: { passing: 1, warning: 1 }, isPartial: true, ...definition });
		expect(instance).toBe('n/b1');
		expect(health).toEqual({ status: 'warning', note: 'queue is long' });
	});

	it.each([
		[{ http: 'http://a/health?x=TCP to b', intervalMs: 90_500, timeoutMs: 100 }, 'http', '1m30.5s', '100ms'],
		[{ tcp: '[::1]:80', intervalMs: 3_600_000, timeoutMs: 5000 }, 'tcp', '1h0m0s', '5s'],
	])('has the check that Consul does: %j', (check, Type, Interval, Timeout) => {
		const { Checks } = toServiceDefinition({ ...full, check }, { status: 'passing', note: '' }, terms);
		const { CheckID, Name } = (Checks as { CheckID: string; Name: string }[])[1] ?? expect.fail();
		const seen = { ...checks, [CheckID]: { Name, ServiceID: 'b1', Type, Interval, Timeout } };
		expect(readOwned(listed(full), seen).definition.check).toEqual(check);
	});

	it('may have nulls, and no check that this token may see', () => {
		const { definition, instance, health } = readOwned({ ID: 'b1', Service: 'barista', Tags: null, Meta: null }, {});
		expect(definition).toMatchObject({ port: 0, tags: [], meta: {}, bind: 'connection' });
		expect({ instance, health }).toEqual({ instance: null, health: { status: 'passing', note: '' } });
	});

	it('critical because it was not renewed is no report of the app', () => {
		const expired = {
			'spock:ttl:b1': { Status: 'critical', Output: 'TTL expired (last output before timeout follows): x' },
		};
		expect(readOwned(listed(full), expired).health).toEqual({ status: 'passing', note: '' });
	});
});

describe('the checks that an earlier version gave an instance', () => {
	const earlier = {
		'service:b1': { Name: 'the app is connected to its sidecar', ServiceID: 'b1', Status: 'passing', Node: 'n' },
		'service:b1:check': { Name: 'TCP to a:1', ServiceID: 'b1', Type: 'tcp', Status: 'passing' },
	};

	it('report how it is until it is registered again, and are taken out then', () => {
		expect(renewedCheck('b1', earlier)).toMatchObject({ Status: 'passing' });
		expect(readOwned(listed(full), earlier).instance).toBe('n/b1');
		// The proof that the others are ours goes last: what was begun can be completed.
		expect(outdatedChecks(plain, earlier)).toEqual(['service:b1:check', 'service:b1']);
		const { definition } = readOwned(listed(full), earlier);
		expect(definition.check).toEqual({ tcp: 'a:1' });
		expect(outdatedChecks(definition, earlier)).toEqual(['service:b1:check', 'service:b1']);
		const body = toServiceDefinition(definition, { status: 'passing', note: '' }, terms, earlier);
		expect(body['Checks']).toMatchObject([{}, { CheckID: 'spock:tcp:b1', TCP: 'a:1', Status: 'passing' }]);
	});

	it.each([
		['an operator’s with a time to live', { Name: 'GET /health answers 200', ServiceID: 'b1', Type: 'ttl' }, earlier],
		['one of the same kind, alone', { Name: 'GET http://a', ServiceID: 'b1', Type: 'http' }, {}],
		['one of another name', { Name: 'Service check', ServiceID: 'b1', Type: 'tcp' }, earlier],
	])('are not taken for %s, which stays', (_, check, beside) => {
		expect(outdatedChecks(plain, { ...beside, 'service:b1:check': check })).not.toContain('service:b1:check');
	});

	it('are not mistaken for those of another program, or of another instance', () => {
		const others = {
			'service:web:1': { Name: 'Service web check', ServiceID: 'web', Status: 'critical' },
			'service:api:check': { Name: 'the app is connected to its sidecar', ServiceID: 'api:check' },
		};
		expect(renewedCheck('web:1', others)).toBeUndefined();
		expect(outdatedChecks({ ...plain, id: 'web:1' }, others)).toEqual([]);
		expect(outdatedChecks({ ...plain, id: 'api' }, others)).toEqual([]);
	});

	it('stay at an instance only while its definition has them', () => {
		const both = { 'spock:http:b1': { ServiceID: 'b1' }, 'spock:tcp:b1': { ServiceID: 'b1' } };
		expect(outdatedChecks({ ...plain, check: { tcp: 'a:1' } }, both)).toEqual(['spock:http:b1']);
		expect(outdatedChecks({ ...plain, check: { http: 'http://a' } }, both)).toEqual(['spock:tcp:b1']);
	});
});
