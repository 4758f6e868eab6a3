import { fileURLToPath } from 'node:url';

import { connect } from '@spock/client';
import type { RegisterServiceData } from '@spock/protocol';
import {
	findConsul,
	type RunningProcess,
	spawnProcess,
	startConsul,
	startSidecar,
	tempSocket,
	waitFor,
} from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { ConsulHealth } from './consul-health.ts';

const binary = findConsul(process.env);
const appFile = fileURLToPath(new URL('./registering-app.mjs', import.meta.url));
const barista: RegisterServiceData = { service: 'barista', id: 'b1', host: '10.0.0.1', port: 8765 };
/** What the sidecar promises for an app that was killed, and what a busy machine may add. */
const CRITICAL_MS_MAX = 1000;
const GRACE_MS = 1500;
const GRACE = ['--reconnect-grace-ms', String(GRACE_MS)];

/** Starts an app and waits until it has registered. */
async function startApp(path: string, registration: RegisterServiceData = barista): Promise<RunningProcess> {
	const env = { SPOCK_SOCKET: path };
	const app = spawnProcess(process.execPath, [appFile, JSON.stringify(registration)], { env, keepInput: true });
	let ended = false;
	void app.finished.then(() => {
		ended = true;
	});
	await waitFor('the app to register', () => app.stdout().includes('\n') || ended);
	if (ended) throw new Error(`the app ended: ${app.stdout()}${app.stderr()}`);
	return app;
}

async function command(app: RunningProcess, line: string): Promise<string> {
	app.child.stdin?.write(`${line}\n`);
	return waitFor(`the answer to ${line}`, () => new RegExp(`^${line}: (.*)$`, 'm').exec(app.stdout())?.[1]);
}

describe('an app registered at a real Consul', () => {
	it('everything it says arrives, its reports too, and drain takes it out', async () => {
		await using consul = await startConsul({ binary });
		await using health = new ConsulHealth(consul, 'barista');
		await using place = await tempSocket();
		await using sidecar = await startSidecar(place.path, ['--consul', consul.url]);
		await using app = await startApp(place.path, {
			...barista,
			tags: ['v2', 'eu'],
			meta: { zone: 'eu-1a', build: '17' },
			weights: { passing: 7, warning: 3 },
			taggedAddresses: { wan: { host: '1.2.3.4', port: 80 }, pod: { host: '10.1.1.1' } },
			check: { tcp: `127.0.0.1:${new URL(consul.url).port}`, intervalMs: 1000 },
		});
		expect(app.stdout()).toBe('b1 test/b1 registered\n');
		await waitFor('the check of Consul itself', () => health.now?.[0]?.status === 'passing');
		expect(health.now?.[0]).toMatchObject({
			address: '10.0.0.1',
			checks: ['spock:tcp:b1', 'spock:ttl:b1'],
			service: {
				Port: 8765,
				Tags: ['v2', 'eu'],
				Meta: { zone: 'eu-1a', build: '17', 'spock-bind': 'connection', 'spock-owner': expect.any(String) },
				Weights: { Passing: 7, Warning: 3 },
				TaggedAddresses: { wan: { Address: '1.2.3.4', Port: 80 }, pod: { Address: '10.1.1.1', Port: 8765 } },
			},
		});

		expect(await command(app, 'report warning queue is long')).toBe('registered');
		await waitFor('the warning', () => health.now?.[0]?.status === 'warning');
		expect(health.now?.[0]?.output).toBe('queue is long');
		// A lookup finds it, with the weight of a warning.
		await using diplomat = await connect({ path: place.path });
		const { instances } = await diplomat.getInstances('barista');
		expect(instances[0]).toMatchObject({ instance: 'test/b1', status: 'warning', weight: 3, zone: 'eu-1a' });
		expect(await command(app, 'report critical out of beans')).toBe('registered');
		await waitFor('the critical', () => health.now?.[0]?.status === 'critical');
		expect(await command(app, 'report passing ')).toBe('registered');
		await waitFor('the recovery', () => health.now?.[0]?.status === 'passing');

		expect(await command(app, 'drain')).toBe('deregistered');
		await waitFor('the end', () => health.now?.length === 0);
		expect(sidecar.stdout()).not.toContain('fault');
	});

	it('killed by SIGKILL it is critical within a second and deregistered after the grace', async () => {
		await using consul = await startConsul({ binary });
		await using health = new ConsulHealth(consul, 'barista');
		await using place = await tempSocket();
		await using _sidecar = await startSidecar(place.path, ['--consul', consul.url, ...GRACE]);
		await using app = await startApp(place.path);
		await waitFor('the registration', () => health.now?.[0]?.status === 'passing');
		health.clear();
		const killedAtMs = performance.now();
		app.child.kill('SIGKILL');
		const criticalMs = (await waitFor('critical', () => health.firstMs('b1', 'critical'))) - killedAtMs;
		const goneMs = (await waitFor('the deregistration', () => health.firstMs('b1', 'gone'))) - killedAtMs;
		process.stdout.write(`critical after ${criticalMs.toFixed(1)} ms, deregistered after ${goneMs.toFixed(1)} ms\n`);
		expect(health.statesOf('b1')).toEqual(['passing', 'critical', 'gone']);
		expect(criticalMs).toBeLessThan(CRITICAL_MS_MAX);
		expect(goneMs).toBeGreaterThanOrEqual(GRACE_MS);
	});

	it('with twenty registrations has none that is not critical within a second of its end', async () => {
		await using consul = await startConsul({ binary });
		await using health = new ConsulHealth(consul, 'barista');
		await using place = await tempSocket();
		await using _sidecar = await startSidecar(place.path, ['--consul', consul.url]);
		await using app = await startApp(place.path);
		const ids = Array.from({ length: 19 }, (_, number) => `b${number + 2}`);
		for (const id of ids) await command(app, `register ${id}`);
		await waitFor('all of them', () => health.now?.length === 20);
		const killedAtMs = performance.now();
		app.child.kill('SIGKILL');
		await waitFor('all critical', () => health.now?.every(({ status }) => status === 'critical'));
		const lastMs = Math.max(...['b1', ...ids].map((id) => health.firstMs(id, 'critical') ?? Number.NaN)) - killedAtMs;
		process.stdout.write(`the last of twenty was critical after ${lastMs.toFixed(1)} ms\n`);
		expect(lastMs).toBeLessThan(CRITICAL_MS_MAX);
	});

	it('that comes back within the grace keeps its registration, and what was said of it', async () => {
		await using consul = await startConsul({ binary });
		await using health = new ConsulHealth(consul, 'barista');
		await using place = await tempSocket();
		await using _sidecar = await startSidecar(place.path, ['--consul', consul.url]);
		await using app = await startApp(place.path);
		const first = await waitFor('the registration', () => health.now?.[0]);
		await app.stop('SIGKILL');
		await waitFor('critical', () => health.now?.[0]?.status === 'critical');
		await using _again = await startApp(place.path);
		await waitFor('passing again', () => health.now?.[0]?.status === 'passing');
		expect(health.now?.[0]?.createIndex).toBe(first.createIndex);
		expect(health.statesOf('b1').filter((state) => state !== 'gone')).toEqual(['passing', 'critical', 'passing']);
	});
});

describe('a sidecar at a real Consul', () => {
	it('killed and restarted it adopts what it had registered: nobody ever sees the app as ill', async () => {
		await using consul = await startConsul({ binary });
		await using health = new ConsulHealth(consul, 'barista');
		await using place = await tempSocket();
		const args = ['--consul', consul.url];
		await using sidecar = await startSidecar(place.path, args);
		await using app = await startApp(place.path);
		expect(await command(app, 'report warning queue is long')).toBe('registered');
		await waitFor('the warning', () => health.now?.[0]?.status === 'warning');
		await sidecar.stop('SIGKILL');
		await using next = await startSidecar(place.path, args);
		await waitFor('the app to be back', () => next.stdout().includes('"phase":"held","state":"registered"'));
		expect(await command(app, 'report passing ')).toBe('registered');
		await waitFor('the recovery', () => health.now?.[0]?.status === 'passing');
		// Neither by the death of the sidecar, nor by its adoption, nor by the app that registers again.
		expect(health.statesOf('b1').join(' ')).toMatch(/^(gone )?passing warning passing$/);
	});

	it('restarted without its app, it takes out what nobody comes for', async () => {
		await using consul = await startConsul({ binary });
		await using health = new ConsulHealth(consul, 'barista');
		await using place = await tempSocket();
		await using sidecar = await startSidecar(place.path, ['--consul', consul.url, ...GRACE]);
		await using app = await startApp(place.path);
		await waitFor('the registration', () => health.now?.[0]);
		await sidecar.stop('SIGKILL');
		await app.stop('SIGKILL');
		await consul.put('/v1/agent/service/register', { ID: 'b2', Name: 'barista', Port: 1 });
		await using next = await startSidecar(place.path, ['--consul', consul.url, ...GRACE]);
		await waitFor('adopted', () => next.stdout().includes('"phase":"adopted"'));
		await waitFor('the deregistration', () => health.now?.map(({ id }) => id).join() === 'b2');
	});

	it('ended by SIGTERM alone, its app still there, it leaves it to the next sidecar: nobody ever sees the app as ill', async () => {
		await using consul = await startConsul({ binary });
		await using health = new ConsulHealth(consul, 'barista');
		await using place = await tempSocket();
		const args = ['--consul', consul.url, '--drain-timeout-ms', '100'];
		await using sidecar = await startSidecar(place.path, args);
		await using app = await startApp(place.path);
		await waitFor('the registration', () => health.now?.[0]?.status === 'passing');
		expect((await sidecar.stop('SIGTERM')).exitCode).toBe(0);
		await using next = await startSidecar(place.path, args);
		await waitFor('the app to be back', () => next.stdout().includes('"phase":"held","state":"registered"'));
		expect(await command(app, 'report warning ')).toBe('registered');
		await waitFor('the report', () => health.now?.[0]?.status === 'warning');
		expect(health.statesOf('b1').join(' ')).toMatch(/^(gone )?passing warning$/);
	});

	it.each(['drains', 'is killed'])('ended by SIGTERM together with its app, which %s, it is out', async (how) => {
		await using consul = await startConsul({ binary });
		await using health = new ConsulHealth(consul, 'barista');
		await using place = await tempSocket();
		await using sidecar = await startSidecar(place.path, ['--consul', consul.url]);
		await using app = await startApp(place.path);
		await waitFor('the registration', () => health.now?.[0]?.status === 'passing');
		sidecar.child.kill('SIGTERM');
		await waitFor('the wait', () => sidecar.stdout().includes('waiting for clients to leave'));
		expect(health.now).toHaveLength(1);
		if (how === 'drains') await command(app, 'drain');
		else await app.stop('SIGKILL');
		expect((await sidecar.finished).exitCode).toBe(0);
		await waitFor('the deregistration', () => health.now?.length === 0);
	});

	it('registers again what an agent has lost', async () => {
		await using consul = await startConsul({ binary });
		await using place = await tempSocket();
		await using _sidecar = await startSidecar(place.path, ['--consul', consul.url, '--registration-ttl-ms', '3000']);
		await using diplomat = await connect({ path: place.path });
		const registration = await diplomat.register(barista);
		expect(registration).toMatchObject({ id: 'b1', service: 'barista', instance: 'test/b1', state: 'registered' });
		await registration.report('warning', 'queue is long');
		// In memory only: what was registered is gone with the process.
		await consul.kill();
		await waitFor('the app to be told', () => registration.state === 'pending');
		expect(registration.error).toContain('Consul');
		await consul.restart();
		await using health = new ConsulHealth(consul, 'barista');
		await waitFor('the app to be told', () => registration.state === 'registered');
		await waitFor('the instance', () => health.now?.[0]?.status === 'warning');
		expect(health.statesOf('b1')).not.toContain('critical');
		// Nor does it need a restart: somebody else may have taken it out.
		await consul.put('/v1/agent/service/deregister/b1');
		await waitFor('gone', () => health.statesOf('b1').at(-1) === 'gone');
		await waitFor('back again', () => health.statesOf('b1').slice(-2).join() === 'gone,warning');
	});

	it('waits for an agent that is away, and tells the app so; ends in time although it is', async () => {
		await using consul = await startConsul({ binary });
		await using place = await tempSocket();
		await using sidecar = await startSidecar(place.path, ['--consul', consul.url]);
		await using diplomat = await connect({ path: place.path });
		const first = await diplomat.register(barista);
		await consul.kill();
		const second = await diplomat.register({ ...barista, id: 'b2' });
		expect(second).toMatchObject({ state: 'pending', error: expect.stringContaining('Consul at') });
		await expect(first.drain({ timeoutMs: 100 })).rejects.toMatchObject({ code: 'TIMEOUT' });
		await consul.restart();
		await waitFor('the app to be told', () => second.state === 'registered');
		await using health = new ConsulHealth(consul, 'barista');
		await waitFor('the instance', () => health.now?.[0]);
		expect(health.now?.map(({ id }) => id)).toEqual(['b2']);
		await consul.kill();
		await diplomat.close();
		expect(await sidecar.stop('SIGTERM')).toMatchObject({ exitCode: 0 });
	});

	it('tells an app what Consul denies, and what is wrong with its registration', async () => {
		const hcl = ['acl { enabled = true default_policy = "deny" tokens { initial_management = "root" } }'];
		await using consul = await startConsul({ binary, hcl, token: 'root' });
		await using place = await tempSocket();
		await using _sidecar = await startSidecar(place.path, ['--consul', consul.url]);
		await using diplomat = await connect({ path: place.path });
		await expect(diplomat.register(barista)).rejects.toMatchObject({ code: 'ACL_DENIED' });
		await expect(diplomat.register({ ...barista, port: 0 })).rejects.toMatchObject({
			code: 'BAD_REQUEST',
			details: { path: 'port' },
		});
	});
});
