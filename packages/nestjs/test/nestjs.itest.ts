import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { connect } from '@spock/client';
import { type RunningProcess, spawnProcess, startSidecar, type TempSocket, tempSocket, waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

const program = fileURLToPath(new URL('./nest-app.mjs', import.meta.url));
const nest11 = new URL('./nest-11/use.mjs', import.meta.url).href;
const BARISTA = { host: '10.0.0.1', port: 8765 };

async function startRegistry({ directory, path }: TempSocket): Promise<RunningProcess> {
	const file = join(directory, 'services.json');
	writeFileSync(file, JSON.stringify({ services: { barista: [BARISTA] } }));
	return startSidecar(path, ['--backend', 'local', '--services', file]);
}

async function get(url: string): Promise<[status: number, body: unknown]> {
	const response = await fetch(url);
	return [response.status, await response.json()];
}

describe.each([
	['12', []],
	// Node 26 calls the way in which it is loaded old.
	['11', ['--disable-warning=DEP0205', '--import', nest11]],
])('NestJS %s', (major, args) => {
	function start({ path }: TempSocket): RunningProcess {
		return spawnProcess(process.execPath, [...args, program], { env: { SPOCK_SOCKET: path }, keepInput: true });
	}

	async function urlOf(app: RunningProcess): Promise<string> {
		const [, version, url = ''] = await waitFor(
			'the address',
			() => /^NestJS (\d+)\S* listens at (\S+)$/m.exec(app.stdout()) ?? undefined,
		);
		expect(version).toBe(major);
		return url;
	}

	it('injects the client and the named one, is registered while it listens, and reports its health', async () => {
		await using place = await tempSocket();
		await using sidecar = await startRegistry(place);
		await using others = await connect({ path: place.path });
		await using app = start(place);
		const url = await urlOf(app);
		expect(await get(`${url}/barista`)).toEqual([200, BARISTA]);
		expect(await get(`${url}/orders`)).toEqual([200, { host: '10.0.0.2', port: 80 }]);
		await waitFor('readiness', async () => (await get(`${url}/readyz`))[0] === 200);
		const details = {
			spock: { status: 'up', sidecar: 'ready', registration: 'registered' },
			second: { status: 'up', sidecar: 'ready' },
		};
		expect(await get(`${url}/readyz`)).toEqual([200, expect.objectContaining({ status: 'ok', details })]);
		expect(await get(`${url}/plain`)).toEqual([200, { spock: details.spock, registered: 'waiter' }]);
		const { host, port } = await others.getService('waiter');
		expect(`http://${host}:${port}`).toBe(url);
		// An absent sidecar does not make an app unready.
		await sidecar.stop('SIGKILL');
		await waitFor('the loss of the sidecar', async () => {
			const [, { spock }] = (await get(`${url}/plain`)) as [number, { spock: { sidecar: string } }];
			return spock.sidecar !== 'ready';
		});
		expect((await get(`${url}/readyz`))[0]).toBe(200);
		expect(await get(`${url}/barista`)).toEqual([200, BARISTA]);
	});

	it('at SIGTERM it is deregistered, finishes a request with its lookups, drains its clients and ends', async () => {
		await using place = await tempSocket();
		await using _sidecar = await startRegistry(place);
		await using others = await connect({ path: place.path });
		await using app = start(place);
		const url = await urlOf(app);
		await waitFor('readiness', async () => (await get(`${url}/readyz`))[0] === 200);
		const asking = get(`${url}/slow`);
		await waitFor('the request', () => app.stdout().includes('asked'));
		app.child.kill('SIGTERM');
		await waitFor('the end of the registration', async () => {
			const { instances } = await others.getInstances('waiter', { fresh: true });
			return instances.length === 0;
		});
		expect(app.stdout()).not.toContain('has ended');
		app.child.stdin?.write('go on\n');
		expect(await asking).toEqual([200, BARISTA]);
		app.child.stdin?.end();
		const { stdout, stderr, signal } = await app.finished;
		expect([stderr, signal]).toEqual(['', 'SIGTERM']);
		expect(stdout).toMatch(/^shutdown: deregistered$/m);
		expect(stdout).toMatch(/^the client has ended: drain$/m);
		expect(stdout).toMatch(/^the second client has ended: drain$/m);
	});

	it('without a sidecar it does not start, and says what is missing', async () => {
		await using place = await tempSocket();
		await using app = start(place);
		app.child.stdin?.end();
		const { exitCode, stderr } = await app.finished;
		expect(exitCode).toBe(1);
		expect(stderr).toContain(`no sidecar answered at ${place.path} within 500 ms`);
	});
});
