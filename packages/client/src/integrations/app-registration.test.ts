import type { RecordedRequest } from '@spock/testkit';
import { type FakeAnswer, settle, wireError } from '@spock/testkit';
import { expect, it } from 'vitest';

import { registering } from '../../test/registering-sidecar.ts';
import { simulate } from '../../test/simulated-client.ts';
import { AppRegistration } from './app-registration.ts';

type Handle = (request: RecordedRequest) => FakeAnswer | undefined;

async function appWith(handle: Handle, data: ConstructorParameters<typeof AppRegistration>[1] = 'barista') {
	const { diplomat, sidecar, clock } = await simulate({}, { handle });
	const registered = () => sidecar.requests.filter(({ func }) => func === 'registerService').map((one) => one.data);
	return { app: new AppRegistration(diplomat, data, clock), diplomat, clock, sidecar, registered };
}

function refused(code: 'OVERLOADED' | 'ACL_DENIED') {
	return { ...wireError(code), retryable: code === 'OVERLOADED' };
}

it('an app is registered at the port at which it listens, is ready then, and not once it is withdrawn', async () => {
	const { app, clock, sidecar, registered } = await appWith(registering);
	expect(app.isReady).toBe(false);
	app.start({ address: '::', port: 8080 });
	app.start({ address: '::', port: 8081 });
	await settle();
	expect([app.isReady, app.service, app.registration?.state]).toEqual([true, 'barista', 'registered']);
	// An outage of the registry or the sidecar later does not make it unready.
	sidecar.connection.drop();
	await settle();
	expect([app.isReady, app.registration?.state]).toEqual([true, 'pending']);
	const withdrawn = app.withdraw();
	expect(app.isReady).toBe(false);
	// The connection is made again, and the app is deregistered over it.
	await clock.advance(100);
	await withdrawn;
	expect(registered()[0]).toEqual({ service: 'barista', port: 8080 });
});

it.each([
	['one of several addresses', { address: '10.0.0.7', port: 80 }, {}, '10.0.0.7'],
	['one of IPv6', { address: 'fd00::7', port: 80 }, {}, 'fd00::7'],
	['all addresses', { address: '0.0.0.0', port: 80 }, {}, undefined],
	['loopback, which is another machine to others', { address: '127.0.0.2', port: 80 }, {}, undefined],
	['the same of IPv6', { address: '::ffff:127.0.0.1', port: 80 }, {}, undefined],
	['one address, and another host is given', { address: '10.0.0.7', port: 80 }, { host: 'a.b' }, 'a.b'],
])('an app that listens at %s', async (_where, listening, data, host) => {
	const { app, registered } = await appWith(registering, { service: 'barista', ...data });
	app.start(listening);
	await settle();
	expect(registered()).toEqual([{ service: 'barista', port: 80, ...(host !== undefined && { host }) }]);
});

it('a port that is given goes before that of the app', async () => {
	const { app, registered } = await appWith(registering, { service: 'barista', port: 80, tags: ['v1'] });
	app.start({ address: '::', port: 8080 });
	await settle();
	expect(registered()).toEqual([{ service: 'barista', port: 80, tags: ['v1'] }]);
	await app.withdraw();
	expect(app.registration?.state).toBe('deregistered');
});

it('an attempt that fails is repeated while that can help, and says why', async () => {
	let refusals = 2;
	const handle: Handle = (request) =>
		request.func === 'registerService' && refusals-- > 0 ? { error: refused('OVERLOADED') } : registering(request);
	const { app, clock, registered } = await appWith(handle);
	app.start({ address: '::', port: 8080 });
	await settle();
	expect([app.isReady, app.error]).toEqual([false, expect.objectContaining({ code: 'OVERLOADED' })]);
	await clock.advance(10_000);
	await clock.advance(10_000);
	expect([app.isReady, app.error, registered().length]).toEqual([true, undefined, 3]);
	await app.withdraw();
});

it.each([
	['that cannot help', 'ACL_DENIED', false],
	['once it is withdrawn', 'OVERLOADED', true],
] as const)('is not repeated where %s', async (_, code, isWithdrawn) => {
	const { app, clock, registered } = await appWith(({ func }) =>
		func === 'registerService' ? { error: refused(code) } : undefined,
	);
	app.start({ address: '::', port: 8080 });
	await settle();
	if (isWithdrawn) await app.withdraw();
	await clock.advance(60_000);
	expect([app.error, registered().length]).toEqual([expect.objectContaining({ code }), 1]);
});

it('a withdrawal that the registry refuses does not hold up the end of the app', async () => {
	const { app } = await appWith((request) =>
		request.func === 'deregisterService' ? { error: wireError('ACL_DENIED') } : registering(request),
	);
	app.start({ address: '::', port: 8080 });
	await settle();
	await app.withdraw();
	expect(app.error).toMatchObject({ code: 'ACL_DENIED' });
});

it('an app without a port says so, and what is no service throws', async () => {
	const { app, diplomat } = await appWith(registering);
	app.start(undefined);
	expect(app.error).toMatchObject({ code: 'BAD_REQUEST', message: expect.stringContaining('register.port') });
	await app.withdraw();
	for (const wrong of ['', 7, null, {}]) {
		expect(() => new AppRegistration(diplomat, wrong as never)).toThrow('register must be the name of a service');
	}
});
