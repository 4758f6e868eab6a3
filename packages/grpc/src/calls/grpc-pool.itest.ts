import type { Client } from '@grpc/grpc-js';
import type { ServiceAddress } from '@spock/client';
import { connect, type Diplomat } from '@spock/client';
import { FakeClock, freePort, makeAuthority, startSidecar, tempSocket, waitFor } from '@spock/testkit';
import { describe, expect, it, onTestFinished, vi } from 'vitest';

import { type Employee, employeeClass, startEmployee, type Work } from '../../test/employee.ts';
import { grpcCopies } from '../../test/grpc-copies.ts';
import { at, hire, openPlace } from '../../test/place.ts';
import { makeServicesFile } from '../../test/services-file.ts';
import type { GrpcModule } from '../resolver/grpc-module.ts';
import { GrpcPool } from './grpc-pool.ts';
import type { GrpcPoolOptions, PoolCallOptions } from './pool-options.ts';
import { type UnaryOptions, unary } from './unary.ts';

/** A pool that ends with the test, and a call through it. */
function openPool(grpc: GrpcModule, diplomat: Diplomat, options: Partial<GrpcPoolOptions<Client>> = {}) {
	const credentials = grpc.credentials.createInsecure();
	const pool = new GrpcPool({ diplomat, service: 'employee', Client: employeeClass(grpc), credentials, ...options });
	onTestFinished(() => pool.close());
	const work = async (options?: PoolCallOptions, request: Work = {}, rest: UnaryOptions = {}): Promise<string> => {
		const call = (client: Client): Promise<{ worker: string }> =>
			unary(client, 'Work', request, { timeoutMs: 20_000, ...rest });
		return (await pool.call(call, options)).worker;
	};
	return { pool, work };
}

describe.each(grpcCopies)('the pool under grpc-js %s', (_version, grpc) => {
	it('makes a channel for each instance, shares the calls out, and closes the channel of one that left', async () => {
		const { file, diplomat } = await openPlace(grpc);
		const employees = (await hire(grpc, 'ann', 'bob', 'eve')) as [Employee, Employee, Employee];
		await file.set({ employee: employees.map(at) });
		const { pool, work } = openPool(grpc, diplomat);
		await waitFor('the services', () => work().catch(() => undefined));
		const before = employees.map(({ count }) => count);
		await Promise.all(Array.from({ length: 30 }, () => work()));
		expect(employees.map(({ count }, index) => count - (before[index] as number))).toEqual([10, 10, 10]);
		expect(pool.size).toBe(3);
		const [ann, bob] = employees;
		await file.set({ employee: [at(ann), at(bob)] });
		await waitFor('the channel of eve to close', () => pool.size === 2);
		for (let turn = 0; turn < 4; turn++) expect(['ann', 'bob']).toContain(await work());
	});

	it('lets the calls to an instance that left end before it closes their channel', async () => {
		const { file, diplomat } = await openPlace(grpc);
		const [ann, bob] = (await hire(grpc, 'ann', 'bob')) as [Employee, Employee];
		await file.set({ employee: [at(ann)] });
		let finish = (): void => undefined;
		const { pool, work } = openPool(grpc, diplomat);
		await waitFor('the services', () => work().catch(() => undefined));
		// The call does not begin before its channel is being closed.
		const late = pool.call(async (client) => {
			await new Promise<void>((resolve) => {
				finish = resolve;
			});
			return unary<{ worker: string }>(client, 'Work', {});
		});
		await file.set({ employee: [at(bob)] });
		await waitFor('another to work', async () => (await work()) === 'bob');
		finish();
		expect(await late).toEqual({ worker: 'ann' });
	});

	it('least-in-flight: a slow instance gets no more while the others are idle', async () => {
		const { file, diplomat } = await openPlace(grpc, { policy: 'least-in-flight' });
		const [ann, bob] = (await hire(grpc, 'ann', 'bob')) as [Employee, Employee];
		await file.set({ employee: [at(ann), at(bob)] });
		const { work } = openPool(grpc, diplomat);
		await waitFor('the services', () => work().catch(() => undefined));
		ann.hangs = true;
		const { count } = ann;
		const stopped = new AbortController();
		const isStuck = waitFor('ann to be busy', () => ann.count > count);
		let stuck: Promise<unknown> = Promise.resolve();
		// One at a time: an idle instance is taken by chance.
		while (ann.count === count) {
			stuck = work({}, {}, { signal: stopped.signal }).catch(({ code }) => code);
			await Promise.race([stuck, isStuck]);
		}
		for (let turn = 0; turn < 10; turn++) expect(await work()).toBe('bob');
		stopped.abort();
		expect(await stuck).toBe(grpc.status.CANCELLED);
	});

	it('an idempotent call goes on to another instance after UNAVAILABLE; another call fails by name', async () => {
		const { file, diplomat } = await openPlace(grpc, { ejectAfterFailures: 0 });
		const [ann] = (await hire(grpc, 'ann')) as [Employee];
		const port = await freePort();
		await file.set({ employee: [at(ann), { id: 'gone', host: '127.0.0.1', port }] });
		const { work } = openPool(grpc, diplomat);
		await waitFor('the services', () => work().catch(() => undefined));
		for (let turn = 0; turn < 10; turn++) expect(await work({ idempotent: true })).toBe('ann');
		const errors: Error[] = [];
		for (let turn = 0; turn < 10; turn++) await work().catch((error) => errors.push(error));
		expect(errors.length).toBe(5);
		expect(errors[0]).toMatchObject({
			code: grpc.status.UNAVAILABLE,
			cause: {
				code: 'UNAVAILABLE',
				message: expect.stringMatching(/^the instance "gone" \(127\.0\.0\.1:\d+\) of "employee": .*ECONNREFUSED/),
				details: { service: 'employee', instance: 'gone', host: '127.0.0.1', port },
			},
		});
	});

	it('deadlines count against an instance until it is ejected; what is cancelled, and what it refuses, does not', async () => {
		const { file, diplomat } = await openPlace(grpc);
		const [ann, bob] = (await hire(grpc, 'ann', 'bob')) as [Employee, Employee];
		await file.set({ employee: [at(ann), at(bob)] });
		const { work } = openPool(grpc, diplomat);
		await waitFor('the services', () => work().catch(() => undefined));
		for (let turn = 0; turn < 20; turn++) {
			const signal = AbortSignal.abort();
			expect(await work({}, {}, { signal }).catch(({ code }) => code)).toBe(grpc.status.CANCELLED);
			const request = { code: grpc.status.NOT_FOUND };
			expect(await work({}, request).catch(({ code }) => code)).toBe(grpc.status.NOT_FOUND);
		}
		expect(diplomat.status().ejected).toEqual([]);
		ann.hangs = true;
		// On a busy machine a deadline can pass at bob too: what counts is how the calls to ann ended.
		let port = 0;
		const acquire = diplomat.acquire.bind(diplomat);
		vi.spyOn(diplomat, 'acquire').mockImplementation(async (...args) => {
			const acquired = await acquire(...args);
			port = acquired.address.port;
			return acquired;
		});
		const codes: unknown[] = [];
		await waitFor('an ejection', async () => {
			const code = await work({ idempotent: true }, {}, { timeoutMs: 100 }).catch(({ code }) => code);
			if (port === ann.port) codes.push(code);
			return diplomat.status().ejected.length > 0;
		});
		expect(codes).toEqual(Array(5).fill(grpc.status.DEADLINE_EXCEEDED));
		for (let turn = 0; turn < 10; turn++) expect(await work()).toBe('bob');
	});

	it('close cancels what hangs; what comes after the first answer is no latency of the instance', async () => {
		const { file, diplomat } = await openPlace(grpc);
		const [ann] = (await hire(grpc, 'ann')) as [Employee];
		await file.set({ employee: [at(ann)] });
		const clock = new FakeClock();
		const durations: (number | undefined)[] = [];
		const acquire = diplomat.acquire.bind(diplomat);
		vi.spyOn(diplomat, 'acquire').mockImplementation(async (...args) => {
			const { query, address } = await acquire(...args);
			return {
				query,
				address,
				release: (_outcome, durationMs) => void durations.push(durationMs),
			};
		});
		const credentials = grpc.credentials.createInsecure();
		const options = { diplomat, service: 'employee', Client: employeeClass(grpc), credentials };
		const pool = new GrpcPool(options, { clock });
		const long = async (client: Client): Promise<void> => {
			await unary(client, 'Work', {});
			await clock.advance(60_000);
		};
		await waitFor('the services', () =>
			pool.call(long).then(
				() => true,
				() => false,
			),
		);
		expect(durations).toEqual([0]);
		ann.hangs = true;
		const { count } = ann;
		const hanging = pool.call((client) => unary(client, 'Work', {}));
		const isClosed = expect(hanging).rejects.toMatchObject({
			code: 'CLOSED',
			cause: { code: grpc.status.CANCELLED },
		});
		await waitFor('ann to be busy', () => ann.count > count);
		await pool.close();
		await isClosed;
	});

	it('names the service that is unknown, or has no healthy instance', async () => {
		const { file, diplomat } = await openPlace(grpc);
		const [ann] = (await hire(grpc, 'ann')) as [Employee];
		const { pool, work } = openPool(grpc, diplomat);
		await expect(work({ idempotent: true })).rejects.toMatchObject({
			code: 'NO_SUCH_SERVICE',
			message: expect.stringContaining('"employee"'),
		});
		await file.set({ employee: [{ ...at(ann), status: 'critical' }] });
		await waitFor('the services', () => work().catch(({ code }) => code === 'NO_HEALTHY_INSTANCE'));
		expect(pool.size).toBe(0);
	});

	it('calls instances by IPv6 address and DNS name, and checks certificates against their host', async () => {
		const { file, diplomat } = await openPlace(grpc);
		const authority = makeAuthority();
		const { cert, key } = authority.issue({ names: ['localhost', 'employee'] });
		const pair = { cert_chain: Buffer.from(cert), private_key: Buffer.from(key) };
		const credentials = grpc.ServerCredentials.createSsl(null, [pair]);
		using ann = await startEmployee(grpc, 'ann', { host: '[::1]', credentials });
		using bob = await startEmployee(grpc, 'bob', { credentials });
		await file.set({ employee: [{ ...at(bob), host: 'localhost' }] });
		const secure = grpc.credentials.createSsl(Buffer.from(authority.ca));
		const { work } = openPool(grpc, diplomat, { credentials: secure });
		await waitFor('the services', () => work().catch(() => undefined));
		await file.set({ employee: [{ ...at(ann), host: '::1' }] });
		const error = await waitFor('a certificate for another host', () =>
			work().then(
				() => undefined,
				(thrown) => thrown,
			),
		);
		expect(error).toMatchObject({
			code: grpc.status.UNAVAILABLE,
			cause: { message: expect.stringMatching(/^the instance "ann" \(\[::1\]:\d+\) of "employee": .*altnames/) },
		});
		const channelOptions = vi.fn((_address: ServiceAddress) => ({ 'grpc.ssl_target_name_override': 'employee' }));
		const named = openPool(grpc, diplomat, { credentials: secure, channelOptions });
		expect(await named.work()).toBe('ann');
		expect(channelOptions.mock.calls.map(([address]) => address.instance)).toEqual(['ann']);
	});

	it('goes on while the sidecar is away', async () => {
		await using place = await tempSocket();
		await using file = await makeServicesFile();
		const [ann] = (await hire(grpc, 'ann')) as [Employee];
		await file.set({ employee: [at(ann)] });
		const sidecar = await startSidecar(place.path, ['--backend', 'local', '--services', file.path]);
		await using diplomat = await connect({ path: place.path, timeoutMs: 2000 });
		const { work } = openPool(grpc, diplomat);
		expect(await work()).toBe('ann');
		await sidecar.stop('SIGKILL');
		await waitFor('the loss', () => diplomat.status().state !== 'ready');
		for (let turn = 0; turn < 5; turn++) expect(await work()).toBe('ann');
		const other = openPool(grpc, diplomat, { service: { service: 'till' } });
		await expect(other.work()).rejects.toMatchObject({ message: expect.stringContaining('till') });
	});
});
