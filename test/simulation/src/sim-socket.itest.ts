import { mkdtempSync, rmSync } from 'node:fs';
import { createConnection, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';

import { describe, expect, it } from 'vitest';

import { Scheduler } from './scheduler.ts';
import { SeededRandom } from './seeded-random.ts';
import { SimNetwork } from './sim-network.ts';
import { SimProcess } from './sim-process.ts';
import { Trace } from './trace.ts';

/** What one end saw, in its order. */
type Log = string[];
/** What the two ends do as soon as they are there. */
type Script = (client: Duplex, server: Duplex, later: (act: () => void) => void) => void;

const LARGE = 'x'.repeat(3_000_000);

function watch(end: Duplex, log: Log, reads: 'data' | 'onread'): void {
	let bytes = 0;
	if (reads === 'data') end.on('data', (chunk: Buffer) => (bytes += chunk.length));
	else end.on('data', () => log.push('data on a socket with onread'));
	end.on('end', () => log.push(`end after ${bytes}`));
	end.on('finish', () => log.push('finish'));
	end.on('error', (error: NodeJS.ErrnoException) => log.push(`error ${error.code}`));
	end.on('close', () => log.push('close'));
}

async function onRealSockets(script: Script): Promise<[client: Log, server: Log]> {
	const directory = mkdtempSync(join(tmpdir(), 'spock-simulation-'));
	const path = join(directory, 's');
	const logs: [Log, Log] = [[], []];
	const accepted = withResolvers<Duplex>();
	const server = createServer({ allowHalfOpen: true }, (socket) => {
		watch(socket, logs[1], 'data');
		accepted.resolve(socket);
	});
	await new Promise<void>((resolve) => server.listen(path, resolve));
	const client = createConnection({
		path,
		onread: { buffer: Buffer.alloc(65_536), callback: () => true },
	});
	watch(client, logs[0], 'onread');
	const far = await accepted.promise;
	const closed = [client, far].map((end) => new Promise<void>((resolve) => end.once('close', () => resolve())));
	script(client, far, (act) => setTimeout(act, 50));
	await Promise.all(closed);
	server.close();
	rmSync(directory, { recursive: true });
	return logs;
}

async function onSimulatedSockets(script: Script): Promise<[client: Log, server: Log]> {
	const scheduler = new Scheduler(new Trace(false));
	const nothing = (): void => undefined;
	const tap = { clientWrote: nothing, sidecarWrote: nothing, clientTook: nothing, ended: nothing };
	const network = new SimNetwork(scheduler, new SeededRandom(1), () => tap);
	const [near, far] = [new SimProcess(scheduler, 1, 'client'), new SimProcess(scheduler, 2, 'server')];
	const logs: [Log, Log] = [[], []];
	network.listen('here', {
		owner: far,
		accept: (socket) => {
			watch(socket, logs[1], 'data');
			script(client, socket, (act) => scheduler.schedule(50, 'later', far, act));
		},
	});
	const client = network.connect(near, 'here', nothing);
	watch(client, logs[0], 'onread');
	await scheduler.runUntil(60_000);
	return logs;
}

function withResolvers<T>(): { promise: Promise<T>; resolve: (value: T) => void } {
	let resolve: (value: T) => void = () => undefined;
	const promise = new Promise<T>((settle) => {
		resolve = settle;
	});
	return { promise, resolve };
}

describe('a simulated socket tells what a real one tells, in the same order', () => {
	it.each<[string, Script]>([
		[
			'the client ends, and the server answers with its own end',
			(client, server) => {
				server.on('end', () => server.end());
				client.end('one line\n');
			},
		],
		[
			'the server ends first',
			(_client, server) => {
				server.end('goodbye\n');
			},
		],
		[
			'the client is destroyed',
			(client, server) => {
				server.on('end', () => server.end());
				client.destroy();
			},
		],
		[
			'the server is destroyed',
			(_client, server) => {
				server.destroy();
			},
		],
		[
			'what was written before an end arrives, also where it does not fit into the kernel',
			(client, server) => {
				server.on('end', () => server.end());
				client.end(LARGE);
			},
		],
		[
			'a writer whose reader has gone is told so',
			(client, server, later) => {
				server.pause();
				client.write(LARGE);
				client.once('error', () => undefined);
				later(() => server.destroy());
			},
		],
		[
			'a server that stops reading goes on later, and nothing is lost',
			(client, server, later) => {
				server.pause();
				client.once('drain', () => client.end());
				client.write(LARGE);
				server.on('end', () => server.end());
				later(() => server.resume());
			},
		],
	])('%s', async (_name, script) => {
		const [real, simulated] = await Promise.all([onRealSockets(script), onSimulatedSockets(script)]);
		expect(real.map((log) => log.length > 0)).toEqual([true, true]);
		expect(simulated).toEqual(real);
	});

	it('nobody listens: error, then close', async () => {
		const real: Log = [];
		const path = join(tmpdir(), 'spock-simulation-nobody-is-here');
		const refused = createConnection({ path });
		watch(refused, real, 'onread');
		await new Promise<void>((resolve) => refused.once('close', () => resolve()));
		const scheduler = new Scheduler(new Trace(false));
		const network = new SimNetwork(scheduler, new SeededRandom(1), () => {
			throw new Error('there is no connection');
		});
		const simulated: Log = [];
		watch(
			network.connect(new SimProcess(scheduler, 1, 'client'), 'nowhere', () => undefined),
			simulated,
			'onread',
		);
		await scheduler.runUntil(1000);
		expect(simulated).toEqual(real);
	});
});
