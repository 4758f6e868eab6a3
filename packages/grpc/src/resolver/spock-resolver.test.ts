import { channel } from 'node:diagnostics_channel';

import * as grpc from '@grpc/grpc-js';
import { type Diplomat, type ServiceInstance, SpockError } from '@spock/client';
import { FakeClock, fakeSnapshot, settle } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { scriptedDiplomat } from '../../test/scripted-diplomat.ts';
import type { AnyListener, Resolution } from './grpc-module.ts';
import type { PlanConfig } from './spock-load-balancer.ts';
import { SpockResolver } from './spock-resolver.ts';

/** A listener of each shape that writes down what it is told. */
function listeners(told: Resolution[]): Record<string, AnyListener> {
	return {
		'a function (1.14)': (endpoints, _attributes, serviceConfig) => {
			if (!endpoints.ok || !serviceConfig?.ok) throw new Error('only resolutions are told');
			told.push({ endpoints: endpoints.value, serviceConfig: serviceConfig.value });
			return true;
		},
		'an object (1.13)': {
			onSuccessfulResolution: (endpoints, serviceConfig) => void told.push({ endpoints, serviceConfig }),
		},
	};
}

const names = Object.keys(listeners([]));

function open(shape = names[0] as string, options: grpc.ChannelOptions = {}) {
	const told: Resolution[] = [];
	const diplomat = scriptedDiplomat();
	const clock = new FakeClock();
	const resolvers = new Set<SpockResolver>();
	const place = {
		grpc,
		diplomat: diplomat as unknown as Diplomat | undefined,
		add: (resolver: SpockResolver) => void resolvers.add(resolver),
		delete: (resolver: SpockResolver) => void resolvers.delete(resolver),
	};
	const listener = listeners(told)[shape] as AnyListener;
	const resolver = new SpockResolver(place, { service: 'employee' }, listener, options, { clock, random: () => 1 });
	const hosts = (index = told.length - 1) =>
		told[index]?.endpoints.map(({ addresses: [address] }) =>
			grpc.experimental.subchannelAddressToString(address as never),
		);
	const plan = (index = told.length - 1) =>
		(told[index] as Resolution).serviceConfig.loadBalancingConfig.map(({ spock }) => (spock as PlanConfig).plan)[0];
	return { told, diplomat, clock, place, resolver, resolvers, hosts, plan };
}

const two = fakeSnapshot('employee', 1, ['10.0.0.1:80', '10.0.0.2:80']);

describe.each(names)('a resolver whose listener is %s', (shape) => {
	it('tells a set of addresses once, however often it is asked and told the same', async () => {
		const { resolver, diplomat, told, hosts } = open(shape);
		resolver.updateResolution();
		await settle();
		expect(told).toEqual([]);
		diplomat.push(two);
		await settle();
		expect(hosts()).toEqual(['10.0.0.1:80', '10.0.0.2:80']);
		for (let turn = 0; turn < 100; turn++) resolver.updateResolution();
		// Also older, in another order, and with an instance that gets no work.
		const [first, second] = two.instances as [ServiceInstance, ServiceInstance];
		const idle: ServiceInstance = { ...first, instance: 'idle', port: 81, status: 'critical' };
		for (const instances of [two.instances, [second, first], [first, second, idle]]) {
			diplomat.push({ ...two, source: 'last-known-good', ageMs: 5000, instances });
			await settle();
		}
		expect(told.length).toBe(1);
		expect(diplomat.opened).toBe(1);
		diplomat.push(fakeSnapshot('employee', 2, ['10.0.0.2:80', '10.0.0.3:80']));
		await settle();
		expect(told.length).toBe(2);
		expect(hosts()).toEqual(['10.0.0.2:80', '10.0.0.3:80']);
	});

	it('tells an empty set once, with its reason', async () => {
		const { resolver, diplomat, told, plan } = open(shape);
		resolver.updateResolution();
		for (let turn = 0; turn < 5; turn++) {
			diplomat.push({
				...fakeSnapshot('employee', 1, []),
				source: turn === 0 ? 'live' : 'last-known-good',
				ageMs: turn,
			});
			await settle();
			resolver.updateResolution();
		}
		expect(told.length).toBe(1);
		expect(told[0]?.endpoints).toEqual([]);
		expect(plan()?.unavailable).toMatchObject({
			code: 'NO_SUCH_SERVICE',
			message: 'no instance of "employee" is registered',
		});
	});

	it('destroyed, it watches nothing and tells nothing; asked again, it begins again', async () => {
		const { resolver, resolvers, diplomat, told, clock } = open(shape);
		resolver.updateResolution();
		diplomat.push(two);
		await settle();
		resolver.destroy();
		await settle();
		expect(diplomat.watches.size).toBe(0);
		expect(resolvers.size).toBe(0);
		expect(clock.pendingTimers).toBe(0);
		expect(told.length).toBe(1);
		resolver.updateResolution();
		diplomat.push(two);
		await settle();
		expect(told.length).toBe(2);
		resolver.destroy();
	});
});

describe('a resolver', () => {
	it('without an answer in time says so by name, and goes on when there is one', async () => {
		const { resolver, diplomat, told, plan, hosts } = open();
		resolver.updateResolution();
		diplomat.questions.reject(new SpockError('TIMEOUT', 'getService: no answer within 5000 ms'));
		await settle();
		expect(plan()?.unavailable).toMatchObject({
			code: 'TIMEOUT',
			message: 'the service "employee": getService: no answer within 5000 ms',
		});
		diplomat.push(two);
		await settle();
		expect(told.length).toBe(2);
		expect(hosts()?.length).toBe(2);
	});

	it('keeps its addresses when the watch breaks, and watches again after a time that grows', async () => {
		const { resolver, diplomat, told, clock } = open();
		resolver.updateResolution();
		diplomat.push(two);
		await settle();
		for (const delayMs of [1000, 2000, 4000]) {
			const { opened } = diplomat;
			diplomat.push(new SpockError('ACL_DENIED', 'no'));
			await settle();
			await clock.advance(delayMs - 1);
			expect(diplomat.opened).toBe(opened);
			for (let turn = 0; turn < 10; turn++) resolver.updateResolution();
			await clock.advance(1);
			expect(diplomat.opened).toBe(opened + 1);
		}
		expect(told.length).toBe(1);
		resolver.destroy();
	});

	it('asks the Diplomat that it is pointed to, and answers for none', async () => {
		const { resolver, diplomat, place, told, hosts, plan } = open();
		resolver.updateResolution();
		diplomat.push(two);
		await settle();
		const other = scriptedDiplomat();
		place.diplomat = other as unknown as Diplomat;
		resolver.restart();
		await settle();
		expect([diplomat.watches.size, other.watches.size, told.length]).toEqual([0, 1, 1]);
		other.push(fakeSnapshot('employee', 1, ['10.0.0.9:80']));
		await settle();
		expect(hosts()).toEqual(['10.0.0.9:80']);
		place.diplomat = undefined;
		resolver.restart();
		await settle();
		expect(plan()?.unavailable).toMatchObject({ code: 'CLOSED', message: expect.stringContaining('"employee"') });
	});

	it('leaves out what the Diplomat has ejected, at most its share, until it may come back', async () => {
		const { resolver, diplomat, clock, hosts, told } = open();
		resolver.updateResolution();
		diplomat.push(two);
		await settle();
		const eject = async (...ejected: { instance: string; leftMs: number }[]) => {
			diplomat.ejected = ejected.map(({ instance, leftMs }) => {
				const [, host = '', port = ''] = /(\S+):(\d+)$/.exec(instance.replace('node/', '')) ?? [];
				return { service: 'employee', instance, host, port: Number(port), leftMs };
			});
			channel('spock:client:ejection').publish({});
			await settle();
		};
		await eject({ instance: 'node/10.0.0.1:80', leftMs: 10_000 });
		expect(hosts()).toEqual(['10.0.0.2:80']);
		await eject({ instance: 'node/10.0.0.1:80', leftMs: 9000 }, { instance: 'node/10.0.0.2:80', leftMs: 10_000 });
		expect(hosts()).toEqual(['10.0.0.1:80']);
		await eject({ instance: 'of another service', leftMs: 10_000 }, { instance: 'node/10.0.0.2:80', leftMs: 500 });
		diplomat.ejected = [
			{ service: 'another', instance: 'node/10.0.0.1:80', host: '10.0.0.1', port: 80, leftMs: 10_000 },
		];
		await clock.advance(500);
		expect(hosts()).toEqual(['10.0.0.1:80', '10.0.0.2:80']);
		expect([told.length, clock.pendingTimers]).toEqual([4, 0]);
		diplomat.ejectedPercentMax = 49;
		await eject({ instance: 'node/10.0.0.1:80', leftMs: 10_000 });
		expect(hosts()).toEqual(['10.0.0.1:80', '10.0.0.2:80']);
		resolver.destroy();
		await eject({ instance: 'node/10.0.0.1:80', leftMs: 10_000 });
		expect(told.length).toBe(4);
	});

	it('gives its rules beside those of the channel, which grpc-js would drop', async () => {
		const retryPolicy = {
			maxAttempts: 3,
			initialBackoff: '0.01s',
			maxBackoff: '0.1s',
			backoffMultiplier: 2,
			retryableStatusCodes: ['UNAVAILABLE'],
		};
		const written = {
			methodConfig: [{ name: [{}], retryPolicy, timeout: '1.5s' }],
			retryThrottling: { maxTokens: 10, tokenRatio: 0.1 },
			loadBalancingConfig: [{ unheard_of: {} }, { pick_first: {} }],
		};
		const { resolver, diplomat, told, plan } = open(names[0], { 'grpc.service_config': JSON.stringify(written) });
		resolver.updateResolution();
		diplomat.push(two);
		await settle();
		expect(told[0]?.serviceConfig).toMatchObject({
			methodConfig: [{ name: [{}], retryPolicy, timeout: { seconds: 1, nanos: 500_000_000 } }],
			retryThrottling: { maxTokens: 10, tokenRatio: 0.1 },
		});
		expect(plan()?.childPolicy.getLoadBalancerName()).toBe('pick_first');
	});

	it('leaves out instances without a port, and writes IPv6 addresses as grpc-js does', async () => {
		const { resolver, diplomat, hosts, plan } = open();
		resolver.updateResolution();
		const instances = two.instances.map((one, index) => (index === 0 ? { ...one, host: '::1' } : { ...one, port: 0 }));
		diplomat.push({ ...two, instances });
		await settle();
		expect(hosts()).toEqual(['[::1]:80']);
		diplomat.push({ ...two, instances: instances.slice(1) });
		await settle();
		expect(plan()?.unavailable?.message).toBe('none of the 1 instances of "employee" has a port');
	});
});
