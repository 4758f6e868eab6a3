import { EventEmitter, once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect as openSocket } from 'node:net';
import { join } from 'node:path';

import { connect, createDiplomat } from '@spock/client';
import { localSource } from '@spock/discovery';
import { startSidecar, type TempSocket, tempSocket, waitFor } from '@spock/testkit';
import fastify5, { type FastifyInstance, type FastifyServerOptions } from 'fastify';
import fastify4 from 'fastify4';
import { describe, expect, it } from 'vitest';

import { type SpockPluginOptions, spock } from '../src/index.ts';

type MakeApp = (options?: FastifyServerOptions) => FastifyInstance;

const HOST = '127.0.0.1';
const services = { barista: [{ id: 'barista-1', host: '10.0.0.1', port: 8765 }] };

/** What the test keeps from the app until it says so. */
class Gate extends EventEmitter {
	async pass(): Promise<void> {
		const opened = once(this, 'opened');
		this.emit('entered');
		await opened;
	}
}

async function get(url: string): Promise<[status: number, body: unknown]> {
	const response = await fetch(url);
	return [response.status, await response.json()];
}

const startRegistry = ({ path }: TempSocket) => startSidecar(path, ['--backend', 'local']);

const majors: ReadonlyArray<readonly [string, MakeApp]> = [
	['Fastify 5', fastify5 as MakeApp],
	['Fastify 4', fastify4 as unknown as MakeApp],
];

describe.each(majors)('%s', (_, make) => {
	/** An app with the plugin, and a route that looks a barista up. */
	function waiter(options: SpockPluginOptions, server: FastifyServerOptions = {}): FastifyInstance {
		const app = make(server);
		app.register(spock, options);
		app.get('/barista', async () => {
			const { host, port } = await app.diplomat.getService('barista');
			return { host, port };
		});
		return app;
	}

	it('the app is ready with its sidecar, answers without it, and its diplomat ends with it', async () => {
		await using place = await tempSocket();
		const file = join(place.directory, 'services.json');
		writeFileSync(file, JSON.stringify({ services }));
		await using sidecar = await startSidecar(place.path, ['--backend', 'local', '--services', file]);
		await using app = waiter({ path: place.path, readyPath: '/readyz' });
		const url = await app.listen({ host: HOST, port: 0 });
		expect(await get(`${url}/readyz`)).toEqual([200, { ready: true, sidecar: 'ready' }]);
		expect(await get(`${url}/barista`)).toEqual([200, { host: '10.0.0.1', port: 8765 }]);
		await sidecar.stop('SIGKILL');
		await waitFor('the loss of the sidecar', () => app.diplomat.status().state !== 'ready');
		expect(await get(`${url}/barista`)).toEqual([200, { host: '10.0.0.1', port: 8765 }]);
		expect((await get(`${url}/readyz`))[0]).toBe(200);
		await app.close();
		expect(await app.diplomat.closed).toEqual({ reason: 'drain' });
	});

	it('the app is registered while it listens, and is out of the registry before it stops taking requests', async () => {
		await using place = await tempSocket();
		await using _sidecar = await startRegistry(place);
		await using registry = await connect({ path: place.path });
		const register = { service: 'waiter', host: HOST, tags: ['v1'] };
		await using app = waiter({ path: place.path, register, readyPath: '/readyz' });
		const url = await app.listen({ host: HOST, port: 0 });
		await waitFor('readiness', async () => (await get(`${url}/readyz`))[0] === 200);
		expect(await get(`${url}/readyz`)).toEqual([200, { ready: true, sidecar: 'ready', registration: 'registered' }]);
		const { host, port } = await registry.getService('waiter');
		expect(`http://${host}:${port}`).toBe(url);
		expect(app.registration).toMatchObject({ service: 'waiter', state: 'registered' });

		// A registry that takes its time: meanwhile requests are answered.
		const { registration = expect.unreachable() } = app;
		const gate = new Gate();
		const drain = registration.drain.bind(registration);
		registration.drain = async (options) => {
			await gate.pass();
			await drain(options);
		};
		const leaving = once(gate, 'entered');
		const closing = app.close();
		await leaving;
		expect(await get(`${url}/readyz`)).toMatchObject([503, { ready: false }]);
		expect((await fetch(`${url}/barista`)).status).toBe(500);
		gate.emit('opened');
		await closing;
		expect(registration.state).toBe('deregistered');
		await expect(registry.getService('waiter', { fresh: true })).rejects.toMatchObject({ code: 'NO_SUCH_SERVICE' });
		await expect(fetch(`${url}/readyz`)).rejects.toThrow();
	});

	it('without a registry that can register it the app serves, is not ready, and says why', async () => {
		const options = { register: 'waiter', readyPath: '/readyz' };
		await using place = await tempSocket();
		await using portless = waiter({ source: await localSource({ services }), ...options });
		await portless.listen({ path: join(place.directory, 'app.sock') });
		const told = await waitFor('the reason', async () => {
			const { ready, error } = JSON.parse((await portless.inject('/readyz')).body);
			return ready === false && error;
		});
		expect(told).toContain('register.port is not given');
		await using app = waiter({ source: await localSource({ services }), ...options });
		const url = await app.listen({ host: HOST, port: 0 });
		const why = await waitFor('the reason', async () => {
			const [status, answer] = await get(`${url}/readyz`);
			return status === 503 && (answer as { error?: string }).error;
		});
		expect(why).toContain('only finds services');
		expect((await fetch(`${url}/barista`)).status).toBe(200);
	});

	it('finishes a request that is there when it is closed, and what that still asks for', async () => {
		await using app = waiter({ source: await localSource({ services }) });
		const gate = new Gate();
		app.addHook('preHandler', () => gate.pass());
		const url = await app.listen({ host: HOST, port: 0 });
		const entered = once(gate, 'entered');
		const asking = get(`${url}/barista`);
		await entered;
		const closing = app.close();
		await waitFor('the end of the listener', () => !app.server.listening);
		expect(app.diplomat.status().state).toBe('ready');
		gate.emit('opened');
		expect(await asking).toEqual([200, { host: '10.0.0.1', port: 8765 }]);
		await closing;
		expect(app.diplomat.status().state).toBe('closed');
	});

	it('a client that keeps its connection does not hold up the end', async () => {
		await using app = waiter({ source: await localSource({ services }) }, { keepAliveTimeout: 600_000 });
		const gate = new Gate();
		app.addHook('preHandler', () => gate.pass());
		await app.listen({ host: HOST, port: 0 });
		const { port } = app.server.address() as { port: number };
		const socket = openSocket(port, HOST);
		const entered = once(gate, 'entered');
		socket.write('GET /barista HTTP/1.1\r\nhost: waiter\r\n\r\n');
		await entered;
		const closing = app.close();
		await waitFor('the end of the listener', () => !app.server.listening);
		gate.emit('opened');
		const [answer] = await once(socket, 'data');
		expect(String(answer).toLowerCase()).toContain('connection: close');
		await closing;
		socket.destroy();
	});

	it.each([
		['its own time-out', { readyTimeoutMs: 50 }, {}, 'within 50 ms'],
		['before Fastify gives up on the plugin', {}, { pluginTimeout: 250 }, 'within 200 ms'],
	])(
		'does not start without a sidecar, says so after %s, and leaves nothing open',
		async (_case, own, server, within) => {
			await using place = await tempSocket();
			await using app = waiter({ path: place.path, ...own }, server);
			const error = await app.listen({ host: HOST, port: 0 }).catch((thrown: unknown) => thrown);
			expect(error).toMatchObject({ code: 'TIMEOUT', details: { address: place.path, found: 'nothing' } });
			expect((error as Error).message).toContain(`no sidecar answered at ${place.path} ${within}`);
			expect(await app.diplomat.closed).toEqual({ reason: 'close' });
			expect(app.server.listening).toBe(false);
		},
	);

	it('starts without a sidecar where there is a fallback', async () => {
		await using place = await tempSocket();
		await using app = waiter({ path: place.path, readyTimeoutMs: 50, fallback: await localSource({ services }) });
		const url = await app.listen({ host: HOST, port: 0 });
		expect(await get(`${url}/barista`)).toEqual([200, { host: '10.0.0.1', port: 8765 }]);
	});

	it('takes an existing diplomat, and leaves it open unless it must drain it', async () => {
		await using diplomat = createDiplomat({ source: await localSource({ services }) });
		for (const drainOnClose of [undefined, true]) {
			await using app = waiter({ diplomat, ...(drainOnClose !== undefined && { drainOnClose }) });
			await app.ready();
			expect((await app.inject('/barista')).statusCode).toBe(200);
			await app.close();
			expect(diplomat.status().state).toBe(drainOnClose ? 'closed' : 'ready');
		}
	});

	it('cannot be registered twice in one app, and leaves nothing open then', async () => {
		await using app = waiter({ source: await localSource({ services }) });
		await using second = createDiplomat({ source: await localSource({ services }) });
		app.register(spock, { diplomat: second, drainOnClose: true });
		await expect(app.ready()).rejects.toMatchObject({ code: 'FST_ERR_DEC_ALREADY_PRESENT' });
		await app.close();
		expect([app.diplomat.status().state, second.status().state]).toEqual(['closed', 'closed']);
	});

	it.each([
		[{ diplomat: 'one' }, 'diplomat'],
		[{ register: {} }, 'register must be the name of a service'],
		[{ readyPath: 'readyz' }, 'readyPath must be a path that begins with /, got "readyz"'],
		[{ drainOnClose: 'yes' }, 'drainOnClose'],
		[{ pth: '/uds' }, 'pth'],
	])('refuses wrong options: %j', async (wrong, message) => {
		const source = await localSource({ services });
		await using app = waiter({ ...('pth' in wrong ? {} : { source }), ...wrong } as SpockPluginOptions);
		await expect(app.ready()).rejects.toThrow(message);
		await source.close();
	});

	it('takes the options of Fastify’s own register', async () => {
		const app = make();
		app.register(spock, { prefix: '/internal', source: await localSource({ services }), readyPath: '/readyz' });
		await app.ready();
		expect((await app.inject('/readyz')).statusCode).toBe(200);
		await app.close();
	});
});
