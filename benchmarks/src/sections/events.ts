import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import { CONTENDERS, serveSpock } from '../contenders.ts';
import { freePort } from '../free-port.ts';
import { residentMb } from '../load/processor-time.ts';
import { median } from '../load/samples.ts';
import type { EventsFigure } from '../results.ts';
import type { Run } from '../run.ts';
import { probe } from './probes.ts';

const MIB = 1_048_576;
const SEGMENT = /\.log$/;
/** A sidecar that has not come up by then is a failure of the bench, which must not hang. */
const START_MS_MAX = 60_000;

/** Events through a real sidecar to a real disk: what an app sees, what the sidecar holds, and how it comes back. */
export async function measureEvents(run: Run): Promise<readonly EventsFigure[]> {
	const { tools, quick } = run;
	const directory = join(tools.directory, 'events');
	const floors = join(tools.directory, 'events-floor');
	mkdirSync(floors, { recursive: true });
	const log = join(directory, 'log');
	mkdirSync(directory, { recursive: true });
	const echo = await CONTENDERS.find(({ id }) => id === 'echo')?.serve(tools);
	if (echo === undefined) throw new Error('there is no echo to compare with');
	const admin = `127.0.0.1:${await freePort()}`;
	const settings = ['--events', log, '--events-bytes-max', String(1024 * MIB), '--admin', admin];
	let sidecar = await serveSpock(tools, 'events', settings);
	try {
		const place = {
			path: sidecar.address,
			pid: sidecar.pid,
			admin,
			echo: echo.address.replace(/^unix:/, ''),
			directory: floors,
			quick,
		};
		await untilListening(sidecar.address);
		const figures = [...(await probe<EventsFigure[]>(run, ['events', JSON.stringify(place)]))];
		run.say('events, as an app sees them');
		figures.push(await measureMemory(run));
		await sidecar.close();
		const recoveries: number[] = [];
		const readings: number[] = [];
		for (let round = 0; round < 3; round++) {
			readings.push(readingMs(log));
			const startedMs = performance.now();
			sidecar = await serveSpock(tools, 'events', settings);
			await untilOpened(sidecar.address);
			const wholeMs = performance.now() - startedMs;
			await sidecar.close();
			recoveries.push(wholeMs - (await emptyStartMs(run, round)));
		}
		const what = `recovery of ${Math.round(bytesOf(log) / MIB)} MiB, beyond a start`;
		figures.push({ what, unit: 'ms', value: median(recoveries), floor: median(readings) });
		run.say('events, memory and recovery');
		return figures;
	} finally {
		await sidecar.close();
		await echo.close();
	}
}

/** What a million small events in the log cost the sidecar, which keeps them on its disk. */
async function measureMemory(run: Run): Promise<EventsFigure> {
	const { tools, quick } = run;
	const log = join(tools.directory, 'memory-log');
	const sidecar = await serveSpock(tools, 'events-memory', ['--events', log, '--events-bytes-max', String(1024 * MIB)]);
	try {
		await untilOpened(sidecar.address);
		await probe(run, ['events-fill', sidecar.address, '20000']);
		await delay(1000);
		const before = residentMb(sidecar.pid);
		await probe(run, ['events-fill', sidecar.address, String(quick ? 200_000 : 1_000_000)]);
		await delay(1000);
		const what = `memory of the sidecar with ${quick ? '200,000' : '1,000,000'} events in its log`;
		return { what, unit: 'MB', value: residentMb(sidecar.pid) - before, floor: before };
	} finally {
		await sidecar.close();
	}
}

async function emptyStartMs({ tools }: Run, round: number): Promise<number> {
	const startedMs = performance.now();
	const sidecar = await serveSpock(tools, 'events-empty', ['--events', join(tools.directory, `empty-log-${round}`)]);
	await untilOpened(sidecar.address);
	const wholeMs = performance.now() - startedMs;
	await sidecar.close();
	return wholeMs;
}

function segmentsOf(log: string): string[] {
	return readdirSync(log)
		.filter((name) => SEGMENT.test(name))
		.map((name) => join(log, name));
}

function bytesOf(log: string): number {
	return segmentsOf(log).reduce((sum, path) => sum + readFileSync(path).length, 0);
}

/** To read the same bytes, from the same page cache. */
function readingMs(log: string): number {
	const paths = segmentsOf(log);
	const startedMs = performance.now();
	for (const path of paths) readFileSync(path);
	return performance.now() - startedMs;
}

async function untilListening(path: string): Promise<void> {
	const deadline = performance.now() + START_MS_MAX;
	while (performance.now() < deadline) {
		const socket = connect(path);
		const isUp = await new Promise<boolean>((resolve) => {
			socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
		});
		socket.destroy();
		if (isUp) return;
		await delay(2);
	}
	throw new Error(`nothing listens at ${path} after ${START_MS_MAX} ms`);
}

/** Until the answer to `openProducer`: the log is recovered then. */
async function untilOpened(path: string): Promise<void> {
	const deadline = performance.now() + START_MS_MAX;
	await untilListening(path);
	const socket = connect(path);
	await once(socket, 'connect');
	socket.setEncoding('utf8');
	let answer = '';
	for (let id = 1; performance.now() < deadline; id++) {
		socket.write(`{"id":${id},"func":"openProducer","data":{"producer":"bench"}}\n`);
		[answer] = (await once(socket, 'data', { signal: AbortSignal.timeout(START_MS_MAX) })) as [string];
		if (!answer.includes('"error"')) {
			socket.destroy();
			return;
		}
		await delay(2);
	}
	socket.destroy();
	throw new Error(`the sidecar at ${path} takes no events after ${START_MS_MAX} ms: ${answer}`);
}
