import { connect } from '@spock/client';
import { freePort, makeAuthority, startSidecar, tempSocket, waitFor } from '@spock/testkit';
import { describe, expect, it, vi } from 'vitest';

import { callEmployee, type Employee, employeeClass, employeeClient, startEmployee } from '../../test/employee.ts';
import { grpcCopies } from '../../test/grpc-copies.ts';
import { at, hire, openPlace, settlesOn } from '../../test/place.ts';
import { makeServicesFile } from '../../test/services-file.ts';
import { nameService } from '../calls/call-status.ts';
import { unary } from '../calls/unary.ts';
import { registerSpockResolver } from './register-spock-resolver.ts';
import { SpockResolver } from './spock-resolver.ts';

const turns = async (count: number): Promise<void> => {
	for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
};

describe.each(grpcCopies)('bad days of the resolver under grpc-js %s', (_version, grpc) => {
	it('no instances: no resolution is asked for but by calls, and none of these hangs', async () => {
		const { file } = await openPlace(grpc);
		const [ann] = (await hire(grpc, 'ann')) as [Employee];
		using client = employeeClient(grpc, 'spock:///employee');
		await file.set({ employee: [at(ann)] });
		await settlesOn(client, 'ann');
		await file.set({ employee: [{ ...at(ann), status: 'critical' }] });
		await settlesOn(client, 'NO_HEALTHY_INSTANCE: no instance of "employee" is healthy: 1 critical');
		const asked = vi.spyOn(SpockResolver.prototype, 'updateResolution');
		await turns(2000);
		expect(asked.mock.calls.length).toBeLessThanOrEqual(2);
		asked.mockClear();
		for (let turn = 0; turn < 20; turn++) await callEmployee(client).catch(() => undefined);
		await turns(2000);
		expect(asked.mock.calls.length).toBeLessThanOrEqual(22);
		asked.mockRestore();
	});

	it('an instance that refuses gets no calls, and nobody notices', async () => {
		const { file } = await openPlace(grpc);
		const [ann] = (await hire(grpc, 'ann')) as [Employee];
		await file.set({ employee: [at(ann), { id: 'gone', host: '127.0.0.1', port: await freePort() }] });
		using client = employeeClient(grpc, 'spock:///employee');
		await settlesOn(client, 'ann');
		for (let turn = 0; turn < 20; turn++) expect(await callEmployee(client)).toBe('ann');
	});

	it('every instance refuses: UNAVAILABLE names the service and says why', async () => {
		const { file } = await openPlace(grpc);
		await file.set({ employee: [{ id: 'gone', host: '127.0.0.1', port: await freePort() }] });
		using client = employeeClient(grpc, 'spock:///employee');
		const error = await waitFor('a refused connection', async () => {
			const thrown = await callEmployee(client).catch((caught) => caught);
			return String(thrown.details).includes('ECONNREFUSED') && thrown;
		});
		expect(error).toMatchObject({ code: grpc.status.UNAVAILABLE });
		expect(error.details).toContain('the service "employee": ');
	});

	it('an instance that hangs is ejected by the deadlines of its calls, and the others do the work', async () => {
		const { file, diplomat } = await openPlace(grpc);
		const employees = (await hire(grpc, 'ann', 'bob', 'eve')) as [Employee, Employee, Employee];
		await file.set({ employee: employees.map(at) });
		using client = employeeClient(grpc, 'spock:///employee');
		await settlesOn(client, 'ann', 'bob', 'eve');
		const [ann] = employees;
		ann.hangs = true;
		const outcomes: unknown[] = [];
		await waitFor('an ejection', async () => {
			outcomes.push(await callEmployee(client, {}, 100).catch(({ code }) => code));
			return diplomat.status().ejected.length > 0;
		});
		expect(outcomes.filter((outcome) => outcome === grpc.status.DEADLINE_EXCEEDED).length).toBeGreaterThanOrEqual(5);
		expect(diplomat.status().ejected.map(({ instance }) => instance)).toEqual(['ann']);
		const { count } = ann;
		for (let turn = 0; turn < 20; turn++) await callEmployee(client);
		expect(ann.count).toBe(count);
	});

	it('a deadline names the service where the client has the interceptor for it; what a service says is left alone', async () => {
		const { file } = await openPlace(grpc);
		const [ann] = (await hire(grpc, 'ann')) as [Employee];
		await file.set({ employee: [at(ann)] });
		using client = employeeClient(grpc, 'spock:///employee', { interceptors: [nameService('employee')] });
		await settlesOn(client, 'ann');
		await expect(callEmployee(client, { hang: true }, 100)).rejects.toMatchObject({
			code: grpc.status.DEADLINE_EXCEEDED,
			details: expect.stringMatching(/^the service "employee": Deadline exceeded/),
		});
		const code = grpc.status.NOT_FOUND;
		await expect(callEmployee(client, { code })).rejects.toMatchObject({ code, details: `ann says ${code}` });
		await file.set({});
		await settlesOn(client, 'NO_SUCH_SERVICE: no instance of "employee" is registered');
	});

	it('a channel that went idle watches nothing, and finds everybody again with its next call', async () => {
		const { file } = await openPlace(grpc);
		const [ann] = (await hire(grpc, 'ann')) as [Employee];
		await file.set({ employee: [at(ann)] });
		using client = employeeClient(grpc, 'spock:///employee', { 'grpc.client_idle_timeout_ms': 1000 });
		await settlesOn(client, 'ann');
		const ended = vi.spyOn(SpockResolver.prototype, 'destroy');
		await waitFor('idleness', () => ended.mock.calls.length > 0);
		ended.mockRestore();
		expect(await callEmployee(client)).toBe('ann');
	});

	it('a call that waits for readiness is answered by the first instance that comes', async () => {
		const { file } = await openPlace(grpc);
		const [ann] = (await hire(grpc, 'ann')) as [Employee];
		using client = employeeClient(grpc, 'spock:///employee');
		await settlesOn(client, 'NO_SUCH_SERVICE: no instance of "employee" is registered');
		const metadata = new grpc.Metadata({ waitForReady: true });
		const done = unary(client, 'Work', {}, { metadata, timeoutMs: 20_000 });
		await file.set({ employee: [at(ann)] });
		expect(await done).toEqual({ worker: 'ann' });
	});

	it('what a healthy instance refuses, and what the caller cancels, says nothing against it', async () => {
		const { file, diplomat } = await openPlace(grpc);
		const [ann] = (await hire(grpc, 'ann')) as [Employee];
		await file.set({ employee: [at(ann)] });
		using client = employeeClient(grpc, 'spock:///employee');
		await settlesOn(client, 'ann');
		const report = vi.spyOn(diplomat, 'report');
		await callEmployee(client, { code: grpc.status.NOT_FOUND }).catch(() => undefined);
		await callEmployee(client, { code: grpc.status.INTERNAL }).catch(() => undefined);
		const { count } = ann;
		await new Promise<void>((resolve) => {
			const call = (client as never as Record<'Work', (...args: unknown[]) => { cancel(): void }>).Work(
				{ hang: true },
				() => resolve(),
			);
			void waitFor('the call to arrive', () => ann.count > count).then(() => call.cancel());
		});
		// A call is reported when its caller has been told.
		await waitFor('three reports', () => report.mock.calls.length >= 3);
		expect(report.mock.calls.map(([{ instance }, outcome]) => [instance, outcome])).toEqual([
			['ann', 'success'],
			['ann', 'failure'],
			['ann', 'cancelled'],
		]);
	});

	it('instances by IPv6 address and by DNS name are called, and reported by name', async () => {
		const { file, diplomat } = await openPlace(grpc);
		using ann = await startEmployee(grpc, 'ann', { host: '[::1]' });
		using bob = await startEmployee(grpc, 'bob');
		await file.set({
			employee: [
				{ ...at(ann), host: '::1' },
				{ ...at(bob), host: 'localhost' },
			],
		});
		using client = employeeClient(grpc, 'spock:///employee');
		const report = vi.spyOn(diplomat, 'report');
		await settlesOn(client, 'ann', 'bob');
		expect(new Set(report.mock.calls.map(([{ instance }]) => instance))).toEqual(new Set(['ann', 'bob']));
	});

	it('a certificate is checked against the name of the service, or what the channel says', async () => {
		const { file } = await openPlace(grpc);
		const authority = makeAuthority();
		const { cert, key } = authority.issue({ names: ['employee'] });
		const pair = { cert_chain: Buffer.from(cert), private_key: Buffer.from(key) };
		using ann = await startEmployee(grpc, 'ann', { credentials: grpc.ServerCredentials.createSsl(null, [pair]) });
		await file.set({ employee: [at(ann)], staff: [at(ann)] });
		const secure = grpc.credentials.createSsl(Buffer.from(authority.ca));
		const good = new (employeeClass(grpc))('spock:///employee', secure);
		await settlesOn(good, 'ann');
		good.close();
		const bad = new (employeeClass(grpc))('spock:///staff', secure);
		const error = await waitFor('a refused certificate', async () => {
			const thrown = await callEmployee(bad).catch((caught) => caught);
			return String(thrown.details).includes('altnames') && thrown;
		});
		bad.close();
		expect(error).toMatchObject({ code: grpc.status.UNAVAILABLE });
		expect(error.details).toContain('the service "staff": ');
		const renamed = new (employeeClass(grpc))('spock:///staff', secure, {
			'grpc.ssl_target_name_override': 'employee',
		});
		await settlesOn(renamed, 'ann');
		renamed.close();
	});

	it('a registration that was undone, and one that points elsewhere, hold for channels that exist', async () => {
		const { file, diplomat, registration } = await openPlace(grpc);
		const [ann] = (await hire(grpc, 'ann')) as [Employee];
		await file.set({ employee: [at(ann)] });
		using client = employeeClient(grpc, 'spock:///employee');
		await settlesOn(client, 'ann');
		registration.unregister();
		await settlesOn(client, 'CLOSED: the resolver of the service "employee" was unregistered');
		registration.repoint(diplomat);
		await settlesOn(client, 'ann');
		const later = registerSpockResolver({ diplomat, grpc });
		registration.unregister();
		await settlesOn(client, 'ann');
		later.unregister();
		using late = employeeClient(grpc, 'spock:///employee');
		await settlesOn(late, 'CLOSED: the resolver of the service "employee" was unregistered');
	});

	it('calls go on while the sidecar is away; with nothing known they end within the time-out of the Diplomat', async () => {
		await using place = await tempSocket();
		await using file = await makeServicesFile();
		const [ann] = (await hire(grpc, 'ann')) as [Employee];
		await file.set({ employee: [at(ann)] });
		const sidecar = await startSidecar(place.path, ['--backend', 'local', '--services', file.path]);
		await using diplomat = await connect({ path: place.path, timeoutMs: 2000 });
		using _registration = registerSpockResolver({ diplomat, grpc });
		using client = employeeClient(grpc, 'spock:///employee');
		await settlesOn(client, 'ann');
		await sidecar.stop('SIGKILL');
		await waitFor('the loss', () => diplomat.status().state !== 'ready');
		for (let turn = 0; turn < 5; turn++) expect(await callEmployee(client)).toBe('ann');
		using stranger = employeeClient(grpc, 'spock:///till');
		const error = await callEmployee(stranger).catch((thrown) => thrown);
		expect(error).toMatchObject({ code: grpc.status.UNAVAILABLE });
		expect(error.details).toContain('"till"');
		await using _again = await startSidecar(place.path, ['--backend', 'local', '--services', file.path]);
		await settlesOn(client, 'ann');
		await settlesOn(stranger, 'NO_SUCH_SERVICE: no instance of "till" is registered');
	});
});

describe('registering', () => {
	it.each(['', 'Spock', 'dns', 'unix', 'spock:'])('refuses the scheme %j', async (scheme) => {
		expect(() => registerSpockResolver({ diplomat: {} as never, scheme })).toThrow(RangeError);
	});

	it('refuses what is no Diplomat, and a channel to a bad target is not made', async () => {
		const [[, grpc]] = grpcCopies as [(typeof grpcCopies)[number]];
		expect(() => registerSpockResolver({ diplomat: {} as never, scheme: 'other' })).toThrow(TypeError);
		const forgotten = Promise.resolve() as never;
		expect(() => registerSpockResolver({ diplomat: forgotten })).toThrow(/diplomat must be a Diplomat.*promise.*await/);
		const diplomat = { acquire: () => undefined } as never;
		const wrong = { diplomat, grpc: {} as never, scheme: 'other' };
		expect(() => registerSpockResolver(wrong)).toThrow(/grpc must be the module @grpc\/grpc-js/);
		const misspelt = { diplomat, sufix: '.x' };
		expect(() => registerSpockResolver(misspelt)).toThrow(/unknown option "sufix"; did you mean "suffix"/);
		await openPlace(grpc);
		expect(() => employeeClient(grpc, 'spock:///a.b')).toThrow(/one label before/);
	});
});
