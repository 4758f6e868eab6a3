import type { ServiceInstance, SpockError } from '@spock/protocol';
import { FakeClock, FakeDns, waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { describeBackendContract } from '../../../test/run-contract.ts';
import type { DiscoveryEvent } from '../../foundation/discovery-event.ts';
import { dnsBackend } from './dns-backend.ts';
import type { DnsBackendOptions } from './dns-options.ts';
import { DnsServers, formatServer, systemServers } from './dns-servers.ts';

/** Short, so that a change is seen soon; what is asked of a server does not depend on it. */
const FAST: DnsBackendOptions = { nameTemplate: '{service}.test', ttlMsMin: 20, random: () => 0 };

describeBackendContract(
	'DNS',
	async () => {
		const dns = await FakeDns.listen();
		const backend = dnsBackend({ ...FAST, servers: [dns.address] });
		return {
			backend,
			setService: (service, instances) =>
				dns.setService(
					`${service}.test`,
					instances.map(({ host, port }) => `${host}:${port}`),
				),
			setReachable: (isReachable) => (isReachable ? dns.listen() : dns.stop()),
			close: async () => {
				await backend.close();
				await dns.stop();
			},
		};
	},
	{ canList: false },
);

interface Watched extends AsyncDisposable {
	readonly dns: FakeDns;
	readonly answers: (readonly ServiceInstance[])[];
	/** Of each answer. */
	readonly ages: number[];
	readonly errors: SpockError[];
	readonly events: DiscoveryEvent[];
	places(): string[] | undefined;
}

/** A watch of `barista.test` at a server that is set up first. */
async function watched(
	setUp: (dns: FakeDns) => void,
	options: DnsBackendOptions = {},
	servers: readonly string[] = [],
): Promise<Watched> {
	const dns = await FakeDns.listen();
	setUp(dns);
	const [answers, errors, events]: [(readonly ServiceInstance[])[], SpockError[], DiscoveryEvent[]] = [[], [], []];
	const ages: number[] = [];
	const onEvent = (event: DiscoveryEvent): unknown => events.push(event);
	const backend = dnsBackend({ ...FAST, servers: [...servers, dns.address], onEvent, ...options });
	backend.watch(
		{ service: 'barista' },
		{
			answered: (instances, meta) => {
				answers.push(instances);
				ages.push(meta?.ageMs ?? 0);
			},
			failed: (error) => errors.push(error),
		},
	);
	return {
		dns,
		answers,
		ages,
		errors,
		events,
		places: () => answers.at(-1)?.map(({ host, port }) => `${host}:${port}`),
		[Symbol.asyncDispose]: async () => {
			await backend.close();
			await dns.stop();
		},
	};
}

const answered = ({ answers }: Watched): Promise<true> => waitFor('an answer', () => answers.length > 0);
const here = (dns: FakeDns): void => dns.setService('barista.test', ['10.0.0.1:80']);

describe('a question to DNS', () => {
	it('has a new id and comes from a new port each time', async () => {
		await using watch = await watched(here);
		await waitFor('many questions', () => watch.dns.questions.length >= 20);
		const { questions } = watch.dns;
		expect(new Set(questions.map(({ port }) => port)).size).toBeGreaterThan(questions.length / 2);
		expect(new Set(questions.map(({ id }) => id)).size).toBeGreaterThan(questions.length / 2);
	});

	it('strays and forgeries are no answer: the true one is waited for', async () => {
		await using watch = await watched((dns) => {
			here(dns);
			dns.fault = 'strays-first';
		});
		await answered(watch);
		expect(watch.places()).toEqual(['10.0.0.1:80']);
		expect(watch.errors).toEqual([]);
	});

	it('goes over TCP when the answer is too long for UDP', async () => {
		const hosts = Array.from({ length: 200 }, (_, number) => `10.0.0.${number}:80`);
		await using watch = await watched((dns) => dns.setService('barista.test', hosts));
		await answered(watch);
		expect(watch.answers[0]).toHaveLength(200);
		expect(watch.dns.questions.slice(0, 2).map(({ protocol }) => protocol)).toEqual(['udp', 'tcp']);
	});

	it('goes over TCP when the answer may have been cut without a mark, and over UDP when it cannot have been', async () => {
		const hosts = Array.from({ length: 60 }, (_, number) => `10.0.0.${number}:80`);
		await using watch = await watched(
			(dns) => {
				dns.setService('barista.test', hosts);
				dns.cutsSilently = true;
			},
			{ udpPayloadBytes: 1232 },
		);
		await waitFor('some answers', () => watch.answers.length > 3);
		expect(watch.answers.every((answer) => answer.length === 60)).toBe(true);
		watch.dns.setService('barista.test', hosts.slice(0, 2));
		await waitFor('the change', () => watch.places()?.length === 2);
		watch.dns.questions.length = 0;
		await waitFor('more questions', () => watch.dns.questions.length > 3);
		expect(watch.dns.questions.every(({ protocol }) => protocol === 'udp')).toBe(true);
	});

	it('goes over TCP at once when that is asked for', async () => {
		await using watch = await watched(here, { protocol: 'tcp' });
		await answered(watch);
		expect(watch.places()).toEqual(['10.0.0.1:80']);
		expect(watch.dns.questions.every(({ protocol }) => protocol === 'tcp')).toBe(true);
	});

	it('is asked without EDNS of a server that does not know it, and never with it again', async () => {
		await using watch = await watched((dns) => {
			here(dns);
			dns.fault = 'no-edns';
		});
		await waitFor('two answers', () => watch.answers.length > 1);
		const [first, ...later] = watch.dns.questions;
		expect(first?.payloadBytes).toBeGreaterThan(512);
		expect(later.every(({ payloadBytes }) => payloadBytes === 0)).toBe(true);
	});

	it('goes to the next server when one refuses, fails or hangs, and stays with the one that answers', async () => {
		for (const fault of ['REFUSED', 'SERVFAIL', 'silent'] as const) {
			await using bad = await FakeDns.listen();
			bad.fault = fault;
			await using watch = await watched(here, { attemptTimeoutMs: 50 }, [bad.address, '127.0.0.1:1']);
			await waitFor('some answers', () => watch.answers.length > 3);
			expect(watch.errors).toEqual([]);
			expect(bad.questions.length).toBeLessThanOrEqual(1);
		}
	});
});

describe('a list of name servers that changes', () => {
	it('is read again after a failure, and the new server answers', async () => {
		await using next = await FakeDns.listen();
		here(next);
		let servers: readonly string[] = [];
		await using watch = await watched(
			(dns) => {
				here(dns);
				servers = [dns.address];
			},
			{ servers: () => servers },
		);
		await answered(watch);
		servers = [next.address];
		await watch.dns.stop();
		await waitFor('a question to the new one', () => next.questions.length > 0);
		const count = watch.answers.length;
		await waitFor('its answer', () => watch.answers.length > count);
		expect(watch.places()).toEqual(['10.0.0.1:80']);
	});

	it('is read again now and then while its servers answer, and one that cannot be used is a failure', async () => {
		const clock = new FakeClock();
		let texts = ['10.0.0.1', '[fe80::1%eth0]:5353'];
		const servers = new DnsServers(() => texts, clock);
		const first = servers.get();
		expect(first.map(formatServer)).toEqual(['10.0.0.1:53', '[fe80::1%eth0]:5353']);
		texts = ['10.0.0.2'];
		expect(servers.get()).toBe(first);
		await clock.advance(5000);
		expect(servers.get().map(formatServer)).toEqual(['10.0.0.2:53']);
		for (const bad of [[], ['ns.test']]) {
			texts = bad;
			servers.failed();
			if (bad.length === 0) servers.get();
			else expect(() => servers.get()).toThrow('servers[0]');
			expect(servers.current.map(formatServer)).toEqual(['10.0.0.2:53']);
		}
		expect(systemServers()).not.toHaveLength(0);
	});
});

describe('an answer of DNS', () => {
	it('is asked for again when its records end, but not sooner than the least and not later than the most', async () => {
		const again = async (ttl: number, options: DnsBackendOptions): Promise<number> => {
			await using watch = await watched((dns) => dns.setService('barista.test', ['10.0.0.1:80'], ttl), options);
			await answered(watch);
			const startedMs = performance.now();
			await waitFor('the next question', () => watch.dns.questions.length > 1);
			return performance.now() - startedMs;
		};
		// Never too soon; how late it may be is the machine's affair.
		expect(await again(0, { ttlMsMin: 300 })).toBeGreaterThan(200);
		expect(await again(3600, { ttlMsMax: 100 })).toBeLessThan(10_000);
		expect(await again(1, {})).toBeGreaterThan(900);
	});

	it('a server that cannot answer is a failure, and the watch goes on by itself', async () => {
		await using watch = await watched(here);
		await answered(watch);
		watch.dns.fault = 'SERVFAIL';
		const error = await waitFor('the failure', () => watch.errors[0]);
		expect(error).toMatchObject({ code: 'UNAVAILABLE', retryable: true });
		expect(error.message).toContain(`SRV records of barista.test: ${watch.dns.address} answered SERVFAIL`);
		expect(watch.answers.every((answer) => answer.length === 1)).toBe(true);
		expect(watch.events).toContainEqual(expect.objectContaining({ type: 'backend-query', outcome: 'failed' }));
		watch.dns.fault = undefined;
		const count = watch.answers.length;
		await waitFor('the recovery', () => watch.answers.length > count);
	});

	it('a name that is gone, and one without SRV records, is a service without instances', async () => {
		await using watch = await watched(here);
		await answered(watch);
		watch.dns.set([]);
		await waitFor('the empty answer', () => watch.places()?.length === 0);
		here(watch.dns);
		await waitFor('its return', () => watch.places()?.length === 1);
		watch.dns.set([{ type: 'A', name: 'barista.test', data: '10.0.0.1' }]);
		await waitFor('the empty answer', () => watch.places()?.length === 0);
		expect(watch.errors).toEqual([]);
	});

	it('targets without addresses beside them are asked for, IPv4 before IPv6, and those without any are left out', async () => {
		await using watch = await watched((dns) => {
			dns.addsAddresses = false;
			dns.set([
				...['four', 'six', 'nowhere', 'alias'].map((target, number) => {
					return { type: 'SRV', name: 'barista.test', data: { port: 80 + number, target: `${target}.test` } } as const;
				}),
				{ type: 'A', name: 'four.test', data: '10.0.0.4' },
				{ type: 'AAAA', name: 'four.test', data: 'fd00::4' },
				{ type: 'AAAA', name: 'six.test', data: 'fd00::6' },
				{ type: 'CNAME', name: 'alias.test', data: 'four.test' },
			]);
		});
		await answered(watch);
		expect(watch.places()).toEqual(['10.0.0.4:83', '10.0.0.4:80', 'fd00::6:81']);
	});

	it('one target that cannot be resolved keeps the addresses that it had, and the others go on', async () => {
		const srv = (target: string, port: number) =>
			({ type: 'SRV', name: 'barista.test', data: { port, target: `${target}.test` } }) as const;
		const a = (target: string, data: string) => ({ type: 'A', name: `${target}.test`, data }) as const;
		await using watch = await watched((dns) => {
			dns.addsAddresses = false;
			dns.set([srv('one', 80), srv('two', 81), a('one', '10.0.0.1'), a('two', '10.0.0.2')]);
			dns.broken.add('two.test');
		});
		const places = (expected: readonly string[]) =>
			waitFor('places', () => String(watch.places()) === String(expected));
		await places(['10.0.0.1:80']);
		watch.dns.broken.clear();
		await places(['10.0.0.1:80', '10.0.0.2:81']);
		watch.dns.broken.add('two.test');
		watch.dns.set([srv('new', 82), srv('two', 81), a('new', '10.0.0.3'), a('two', '10.0.0.2')]);
		await places(['10.0.0.3:82', '10.0.0.2:81']);
		const { ages } = watch;
		await waitFor('an older answer', () => (ages.at(-1) ?? 0) > (ages.at(-2) ?? 0) && (ages.at(-2) ?? 0) >= 40);
		watch.dns.set([srv('new', 82), a('new', '10.0.0.3')]);
		await places(['10.0.0.3:82']);
		expect(watch.errors).toEqual([]);
	});

	it('a target that cannot be resolved now is a failure, and not an instance less', async () => {
		await using watch = await watched((dns) => {
			here(dns);
			dns.addsAddresses = false;
		});
		await answered(watch);
		watch.dns.fault = 'SERVFAIL';
		await waitFor('the failure', () => watch.errors.length > 0);
		expect(watch.answers.every((answer) => answer.length === 1)).toBe(true);
	});
});

describe('the DNS backend', () => {
	it('says at once that a condition has no place in the template, and asks nothing', async () => {
		await using dns = await FakeDns.listen();
		const backend = dnsBackend({ ...FAST, servers: [dns.address] });
		const error = await new Promise<SpockError>((resolve) => {
			backend.watch({ service: 'barista', tags: ['v1'] }, { answered: () => undefined, failed: resolve });
		});
		expect(error).toMatchObject({ code: 'BAD_REQUEST', details: { path: 'tags' } });
		expect(dns.questions).toEqual([]);
		await backend.close();
	});

	it('names the option that is wrong', () => {
		const wrong: [DnsBackendOptions, string][] = [
			[{ servers: [] }, 'servers'],
			[{ servers: ['ns.test'] }, 'servers[0]'],
			[{ servers: ['127.0.0.1:0'] }, 'servers[0]'],
			[{ servers: ['127.0.0.1', '127.0.0.1:65536'] }, 'servers[1]'],
			[{ nameTemplate: 'x' }, '{service}'],
			[{ protocol: 'tls' as 'tcp' }, 'protocol'],
			[{ ttlMsMin: 0 }, 'ttlMsMin'],
			[{ ttlMsMin: 5000, ttlMsMax: 1000 }, 'ttlMsMax'],
			[{ timeoutMs: Number.NaN }, 'timeoutMs'],
		];
		for (const [options, name] of wrong) expect(() => dnsBackend(options)).toThrow(name);
		const { addresses } = dnsBackend({ servers: ['10.0.0.1', '::1', '[fd00::1]:5353', '10.0.0.1:5353'] }).status();
		expect(addresses).toEqual(['10.0.0.1:53', '[::1]:53', '[fd00::1]:5353', '10.0.0.1:5353']);
	});
});
