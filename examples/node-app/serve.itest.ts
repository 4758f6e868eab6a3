import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

import { runSidecar, spawnProcess, startSidecar, tempSocket, waitFor } from '@spock/testkit';
import { expect, it } from 'vitest';

const app = fileURLToPath(new URL('./serve.js', import.meta.url));

it('the example service registers itself, is found and served, and deregisters before it ends', async () => {
	await using place = await tempSocket();
	await using _sidecar = await startSidecar(place.path, ['--backend', 'local']);
	await using run = spawnProcess(process.execPath, [app, 'barista'], { env: { SPOCK_SOCKET: place.path } });
	await waitFor('the registration', () => run.stdout().includes('barista is registered as barista-'));
	const get = async () => {
		await using command = runSidecar(['get', 'barista', '--socket', place.path]);
		return await command.finished;
	};
	const { stdout: address } = await get();
	expect(await (await fetch(`http://${address.trim()}/`)).text()).toBe('a cup of coffee\n');
	const { exitCode, stdout } = await run.stop('SIGTERM');
	expect(stdout).toContain('barista is deregistered');
	expect(exitCode).toBe(0);
	expect((await get()).stderr).toContain('NO_SUCH_SERVICE');
});

it('at SIGTERM it finishes a request that is there, and does not wait for the connection that its client keeps', async () => {
	await using place = await tempSocket();
	await using _sidecar = await startSidecar(place.path, ['--backend', 'local']);
	await using run = spawnProcess(process.execPath, [app, 'barista'], { env: { SPOCK_SOCKET: place.path } });
	await waitFor('the registration', () => run.stdout().includes('barista is registered as barista-'));
	await using command = runSidecar(['get', 'barista', '--socket', place.path]);
	const [host, port] = (await command.finished).stdout.trim().split(':');
	const agent = new Agent({ keepAlive: true });
	try {
		const order = request({ host, port, agent, method: 'POST', headers: { expect: '100-continue' } });
		order.flushHeaders();
		await once(order, 'continue');
		run.child.kill('SIGTERM');
		await waitFor('the end of its registration', () => run.stdout().includes('barista is deregistered'));
		expect(run.child.exitCode).toBe(null);
		order.end('with milk');
		const [response] = (await once(order, 'response')) as [IncomingMessage];
		expect(response.headers.connection).toBe('keep-alive');
		expect(await text(response)).toBe('a cup of coffee\n');
		const { exitCode, stdout } = await run.finished;
		expect(exitCode).toBe(0);
		expect(stdout).toContain('barista is deregistered\nevery cup is served\n');
	} finally {
		agent.destroy();
	}
});
