import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { connect } from 'node:net';

import { type RunningProcess, sidecarBin, startSidecar, tempSocket, waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { RawClient } from './raw-client.ts';

/** More lines than any pipe and the sidecar's own buffer hold. */
const CONNECTIONS = 4000;
const AT_ONCE = 100;
const script = '/usr/bin/script';

/** Clients that come and go: at the level `debug` each is two lines. */
async function makeLines(path: string): Promise<void> {
	for (let made = 0; made < CONNECTIONS; made += AT_ONCE) {
		await Promise.all(
			Array.from({ length: AT_ONCE }, async () => {
				const socket = connect(path);
				await once(socket, 'connect');
				socket.destroy();
				await once(socket, 'close');
			}),
		);
	}
}

async function pings(path: string): Promise<unknown> {
	await using client = await RawClient.open(path);
	return (await client.ask(1, 'ping'))?.['id'];
}

function found(pattern: RegExp, sidecar: RunningProcess): RegExpExecArray | undefined {
	return pattern.exec(sidecar.stdout()) ?? undefined;
}

async function startChatty(path: string, flags: readonly string[] = []): Promise<RunningProcess> {
	const sidecar = await startSidecar(path, ['--log-level', 'debug', '--log-format', 'json', ...flags]);
	await waitFor('the announcement', () => sidecar.stdout().includes('"msg":"listening"'));
	return sidecar;
}

describe('the log of a sidecar whose reader stalls', () => {
	it('holds up nobody, and the log says what it lacks', async () => {
		await using place = await tempSocket();
		await using sidecar = await startChatty(place.path, ['--admin', '127.0.0.1:0']);
		const [, admin] = await waitFor('the admin port', () => found(/"address":"([^"]+)","msg":"admin port/, sidecar));
		const droppedLines = async (): Promise<number> => {
			const scrape = await (await fetch(`http://${admin}/metrics`)).text();
			return Number(/^spock_log_lines_dropped_total{reason="unread"} (\d+)$/m.exec(scrape)?.[1]);
		};
		expect(await droppedLines()).toBe(0);
		sidecar.child.stdout?.pause();
		await makeLines(place.path);
		expect(await pings(place.path)).toBe(1);
		expect(await droppedLines()).toBeGreaterThan(0);
		sidecar.child.stdout?.resume();
		const [, told] = await waitFor('what is missing', () =>
			found(/"dropped":(\d+),"msg":"log lines dropped"/, sidecar),
		);
		expect(Number(told)).toBeGreaterThan(0);
		const { exitCode, stdout } = await sidecar.stop();
		expect(exitCode).toBe(0);
		expect(stdout).toContain('"msg":"stopped"');
		// No line is torn.
		for (const line of stdout.trimEnd().split('\n')) expect(() => JSON.parse(line), line).not.toThrow();
	});

	it('ends by SIGTERM without it', async () => {
		await using place = await tempSocket();
		await using sidecar = await startChatty(place.path);
		sidecar.child.stdout?.pause();
		await makeLines(place.path);
		sidecar.child.kill('SIGTERM');
		// Not `close`, which waits for the reader.
		const [exitCode] = (await once(sidecar.child, 'exit')) as [number];
		expect(exitCode).toBe(0);
	});

	it.skipIf(!existsSync(script))('or a person at a terminal has pressed Ctrl-S', async () => {
		await using place = await tempSocket();
		const command = `${process.execPath} ${sidecarBin} start --socket ${place.path} --log-level debug --log-format json`;
		// `script` reads what is printed at its terminal until its own reader stalls.
		const terminal = spawn(script, ['-qfc', command, '/dev/null'], { stdio: ['pipe', 'pipe', 'ignore'] });
		try {
			await waitFor('the sidecar', () => existsSync(place.path));
			await makeLines(place.path);
			expect(await pings(place.path)).toBe(1);
		} finally {
			terminal.kill('SIGKILL');
		}
	});
});

describe('the lines that a client can cause', () => {
	it('are few in a second, and the log says how many it has left out', async () => {
		await using place = await tempSocket();
		await using sidecar = await startSidecar(place.path, ['--log-format', 'json', '--bad-frames-in-a-row-max', '1']);
		const bad = Array.from({ length: 500 }, async () => {
			await using client = await RawClient.open(place.path);
			client.socket.write('no frame\n');
			await client.next();
		});
		await Promise.all(bad);
		await waitFor('the count', () => sidecar.stdout().includes('some left out'));
		const { stdout } = await sidecar.stop();
		const ended = stdout.split('"reason":"bad-frames"').length - 1;
		const leftOut = [...stdout.matchAll(/"kind":"connection","leftOut":(\d+)/g)].map(([, count]) => Number(count));
		expect(ended).toBeLessThan(100);
		expect(ended + leftOut.reduce((sum, count) => sum + count, 0)).toBe(500);
	});
});
