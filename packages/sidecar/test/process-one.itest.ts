import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';

import { type RunningProcess, sidecarBin, spawnProcess, startSidecar, tempSocket, waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

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

function asProcessOne(...args: readonly string[]): RunningProcess {
	const start = [process.execPath, sidecarBin, ...args];
	const [program = '', ...rest] = canMakeOne ? [...NAMESPACE, ...start] : start;
	return spawnProcess(program, rest);
}

/** By the version: worker threads of a test runner have no `execve`. https://nodejs.org/api/process.html#processexecvefile-args-env */
function canGiveItsPlace(): boolean {
	const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
	return major > 23 || (major === 23 && minor >= 11) || (major === 22 && minor >= 15);
}

describe('sidecar wait as process 1 of a container', () => {
	it('gives its place to the command where Node can, and else its signals and its exit code', async () => {
		await using place = await tempSocket();
		await using _ready = await startSidecar(place.path, ['--backend', 'local']);
		const script = 'trap "echo got; exit 6" TERM; echo $$; while :; do sleep 0.05; done';
		await using app = asProcessOne('wait', '--socket', place.path, '--', 'sh', '-c', script);
		const pid = Number(await waitFor('the app', () => app.stdout() || undefined));
		if (canMakeOne) expect(pid === 1).toBe(canGiveItsPlace());
		const one = canMakeOne ? await waitFor('its process', () => childOf(app.pid)) : app.pid;
		process.kill(one, 'SIGTERM');
		expect(await app.finished).toMatchObject({ exitCode: 6, stdout: expect.stringMatching(/got\n$/) });
	});

	it('is ended by a signal while it waits', async () => {
		await using place = await tempSocket();
		await using waiting = asProcessOne('wait', '--socket', place.path, '--timeout', '0', '--', 'true');
		const one = canMakeOne ? await waitFor('its process', () => childOf(waiting.pid)) : waiting.pid;
		// Before its handlers are there a signal is nothing to process 1: as often as it takes.
		const again = setInterval(() => {
			try {
				process.kill(one, 'SIGHUP');
			} catch {
				// It has ended, which this process learns a moment later.
			}
		}, 50);
		const { exitCode, signal } = await waiting.finished;
		clearInterval(again);
		expect([exitCode, signal]).toEqual(canMakeOne ? [129, null] : [null, 'SIGHUP']);
	});
});
