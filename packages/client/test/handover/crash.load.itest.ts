import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { connect } from '@spock/client';
import { type RunningProcess, startSidecar, tempSocket, waitFor } from '@spock/testkit';
import { expect, it } from 'vitest';

import { reportHandOver } from './report.ts';

/** `pnpm test:handover` asks for 200. */
const TURNS = Number(process.env['SPOCK_HANDOVER_TURNS'] ?? 5);
/** How long a worker, and a connection to it, must hold before its end is no crash at once: a test cannot wait for the default each time. */
const STABLE_MS = 100;

/** Logged facts of one kind, in order. */
function logged(supervisor: RunningProcess, message: string): { readonly pid: number; readonly standby?: number }[] {
	return supervisor
		.stdout()
		.split('\n')
		.filter((line) => line.includes(`"msg":"${message}"`))
		.map((line) => JSON.parse(line));
}

function quantile(values: readonly number[], fraction: number): number {
	const sorted = [...values].sort((left, right) => left - right);
	return Math.round((sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * fraction))] ?? 0) * 10) / 10;
}

/** Calls until it is answered, whatever comes of the others; how long that took, in milliseconds. */
async function untilAnswered(call: () => Promise<unknown>): Promise<number> {
	const startedMs = performance.now();
	for (;;) {
		try {
			await call();
			return performance.now() - startedMs;
		} catch {
			await new Promise<void>((resolve) => setTimeout(resolve, 1));
		}
	}
}

it.each(['a path', 'a port'])(
	`${TURNS} crashes of a supervised worker, at %s: the next one answers, and no lookup fails`,
	async (where) => {
		await using place = await tempSocket();
		const services = join(place.directory, 'services.json');
		writeFileSync(services, JSON.stringify({ services: { barista: [{ host: '1.2.3.4', port: 8765 }] } }));
		await using supervisor = await startSidecar(place.path, [
			...['--services', services, '--log-level', 'debug', '--listen', '127.0.0.1:0'],
			...['--supervise', '--supervise-stable-ms', String(STABLE_MS)],
		]);
		const port = await waitFor('the port', () => /"127\.0\.0\.1:(\d+)"/.exec(supervisor.stdout())?.[1]);
		const address = where === 'a path' ? { path: place.path } : { port: Number(port) };
		await using client = await connect({ ...address, stableMs: STABLE_MS });
		await client.getService('barista');
		const lookUp = (): Promise<unknown> => client.getService('barista');
		let [lookups, failed] = [0, 0];
		const [gaps, freshGaps]: [number[], number[]] = [[], []];
		for (let turn = 0; turn < TURNS; turn++) {
			await waitFor('a standby', () => logged(supervisor, 'a standby is ready').length > turn);
			await waitFor('a connection that has held', () => logged(supervisor, 'serving').length > turn);
			await new Promise<void>((resolve) => setTimeout(resolve, STABLE_MS));
			const worker = logged(supervisor, 'serving').at(-1)?.pid as number;
			let isBack = false;
			process.kill(worker, 'SIGKILL');
			const back = Promise.all([
				untilAnswered(() => client.ping()).then((gapMs) => gaps.push(gapMs)),
				untilAnswered(() => client.getService('barista', { fresh: true })).then((gapMs) => freshGaps.push(gapMs)),
			]).then(() => {
				isBack = true;
			});
			// What is known is answered in this process, whoever is away.
			while (!isBack) {
				await lookUp().catch(() => failed++);
				lookups++;
				await new Promise<void>((resolve) => setTimeout(resolve, 1));
			}
			await back;
		}
		const gap = (values: readonly number[]) => ({
			p50: quantile(values, 0.5),
			p99: quantile(values, 0.99),
			max: quantile(values, 1),
		});
		reportHandOver(where === 'a path' ? 'crash-path' : 'crash-port', {
			node: process.version,
			crashes: TURNS,
			'gap until a call is answered, ms': gap(gaps),
			'gap until a fresh lookup is answered, ms': gap(freshGaps),
			'lookups in the process meanwhile': lookups,
			'of which failed': failed,
		});
		expect(failed).toBe(0);
		expect(gaps).toHaveLength(TURNS);
		expect(client.status().reconnects).toBe(TURNS);
		// Each was restarted by its standby, at once.
		expect(supervisor.stdout().match(/the standby takes its place/g)).toHaveLength(TURNS);
		// A sidecar waits for its clients, and this one would not leave by itself.
		await client.drain();
		expect(await supervisor.stop()).toMatchObject({ exitCode: 0, stderr: '' });
	},
	60_000 + TURNS * 5000,
);
