import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';

import { sidecarBin, spawnProcess, tempSocket, waitFor } from '@spock/testkit';
import { expect, it } from 'vitest';

import { RawClient } from './raw-client.ts';

/** A process of its own PID namespace is number 1 in it, as in a container: signals that it does not handle are lost on it. */
const NAMESPACE = ['unshare', '--user', '--map-root-user', '--pid', '--fork', '--kill-child'];
const canMakeOne = spawnSync('unshare', [...NAMESPACE.slice(1), 'true']).status === 0;

function childOf(pid: number): number | undefined {
	const child = Number.parseInt(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8'), 10);
	return Number.isNaN(child) ? undefined : child;
}

// Where no namespace can be made nothing is process 1: then the signals are tried on a process like any other.
it('as process 1 of a container it ends by SIGTERM and by SIGINT', async () => {
	for (const signal of ['SIGTERM', 'SIGINT'] as const) {
		await using place = await tempSocket();
		const start = [process.execPath, sidecarBin, 'start', '--socket', place.path, '--grace-ms', '0'];
		const [program = '', ...args] = canMakeOne ? [...NAMESPACE, ...start] : start;
		await using spawned = spawnProcess(program, args);
		await waitFor('the socket', () => existsSync(place.path));
		await using client = await RawClient.open(place.path);
		const pid = canMakeOne ? await waitFor('its process', () => childOf(spawned.pid)) : spawned.pid;
		expect(await client.ask(1, 'status')).toMatchObject({ data: { pid: canMakeOne ? 1 : pid } });
		client.socket.destroy();
		process.kill(pid, signal);
		expect(await spawned.finished).toMatchObject({ exitCode: 0 });
		expect(existsSync(place.path)).toBe(false);
	}
});
