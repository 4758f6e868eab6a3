import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import { serveSpock } from '../contenders.ts';
import { processorTimeUs } from '../load/processor-time.ts';
import { median } from '../load/samples.ts';
import type { BenchResults } from '../results.ts';
import type { Run } from '../run.ts';

/** One unit of /proc/PID/stat's processor times: USER_HZ, which is 100 on every Linux that Node runs on. */
const TICK_MS = 10;
const POLL_MS = 2;
const READY_MS_MAX = 20_000;

/** How long a sidecar takes until it answers, and what the small commands cost that probes run over and over. */
export async function measureStartUp(run: Run): Promise<BenchResults['startUp']> {
	const runs = run.quick ? 3 : 15;
	const figures = [await measureStart(run, runs)];
	const server = await serveSpock(run.tools, 'start-up');
	try {
		await untilAnswering(server.address);
		const socket = ['--socket', server.address];
		figures.push(await measureCommand(run, runs, 'sidecar health', ['health', ...socket]));
		figures.push(await measureCommand(run, runs, 'sidecar get', ['get', 'barista', ...socket]));
		figures.push(await measureCommand(run, runs, 'sidecar --version', ['--version']));
	} finally {
		await server.close();
	}
	const empty = join(run.tools.directory, 'empty.js');
	writeFileSync(empty, '');
	figures.push(await measureCommand(run, runs, 'node with an empty script', [], empty));
	run.say('start-up');
	return figures;
}

async function measureStart({ tools }: Run, runs: number): Promise<BenchResults['startUp'][number]> {
	const wallMs: number[] = [];
	const cpuMs: number[] = [];
	for (let index = 0; index < runs; index++) {
		const startedMs = performance.now();
		const server = await serveSpock(tools, `start-${index}`);
		await untilAnswering(server.address);
		wallMs.push(performance.now() - startedMs);
		cpuMs.push(processorTimeUs(server.pid) / 1000);
		await server.close();
	}
	return { what: 'sidecar start (local)', wallMs: median(wallMs), cpuMs: median(cpuMs) };
}

/** Resolves when a ping is answered at a path. */
async function untilAnswering(path: string): Promise<void> {
	const deadlineMs = performance.now() + READY_MS_MAX;
	while (performance.now() < deadlineMs) {
		const socket = connect(path);
		const isAnswered = await new Promise<boolean>((resolve) => {
			socket.once('connect', () => socket.write('{"id":1,"func":"ping"}\n'));
			socket.once('data', () => resolve(true));
			socket.once('error', () => resolve(false));
		});
		socket.destroy();
		if (isAnswered) return;
		await delay(POLL_MS);
	}
	throw new Error(`nobody answers at ${path}`);
}

async function measureCommand(
	{ tools }: Run,
	runs: number,
	what: string,
	args: readonly string[],
	script: string = tools.sidecar,
): Promise<BenchResults['startUp'][number]> {
	const wallMs: number[] = [];
	const beforeMs = childrenMs();
	for (let index = 0; index < runs; index++) {
		const startedMs = performance.now();
		const child = spawn(tools.node, [script, ...args], { stdio: 'ignore' });
		const [code] = (await once(child, 'exit')) as [number | null];
		if (code !== 0) throw new Error(`${what} ended with ${code}`);
		wallMs.push(performance.now() - startedMs);
	}
	// The kernel adds a child's time to its parent's account when it has ended.
	return { what, wallMs: median(wallMs), cpuMs: (childrenMs() - beforeMs) / runs };
}

/** Processor time of all children of this process that have ended, in ms. */
function childrenMs(): number {
	const fields = readFileSync('/proc/self/stat', 'utf8')
		.replace(/^.*\) /s, '')
		.split(' ');
	// Behind the name: state is field 0, so cutime and cstime, 16 and 17 in proc(5), are 13 and 14.
	return (Number(fields[13]) + Number(fields[14])) * TICK_MS;
}
