import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
	chmodSync,
	existsSync,
	lstatSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	renameSync,
	rmSync,
	writeFileSync,
} from 'node:fs';
import { createConnection, createServer } from 'node:net';
import { join } from 'node:path';

import { FakeClock, tempSocket, waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';
import { listen } from '../src/listen/listen.ts';
import { Strangers } from '../src/overload/admission.ts';
import { RawClient } from './raw-client.ts';

const accept = (): void => undefined;
const STORM = 1000;

/** Leaves a socket behind as a process does that was killed: bound, and nobody there. */
async function leaveStaleSocket(path: string): Promise<void> {
	const code = `require('node:net').createServer().listen(${JSON.stringify(path)})`;
	const child = spawn(process.execPath, ['-e', code], { stdio: 'ignore' });
	await waitFor('the socket', () => existsSync(path));
	child.kill('SIGKILL');
	await once(child, 'close');
	expect(existsSync(path)).toBe(true);
}

describe('a unix domain socket', () => {
	it('is for owner and group only, and gone after the close, with nothing left beside it', async () => {
		await using place = await tempSocket();
		const listener = await listen({ path: place.path }, { accept });
		expect(lstatSync(place.path).mode & 0o777).toBe(0o660);
		expect(readdirSync(place.directory)).toEqual(['sidecar.sock']);
		await listener.close();
		await listener.close();
		expect(readdirSync(place.directory)).toEqual([]);
	});

	it('takes the mode it is told', async () => {
		await using place = await tempSocket();
		const listener = await listen({ path: place.path }, { accept, socketMode: 0o600 });
		expect(lstatSync(place.path).mode & 0o777).toBe(0o600);
		await listener.close();
	});

	it('replaces the socket of a sidecar that was killed', async () => {
		await using place = await tempSocket();
		await leaveStaleSocket(place.path);
		const listener = await listen({ path: place.path }, { accept });
		await using _client = await RawClient.open(place.path);
		expect(readdirSync(place.directory)).toEqual(['sidecar.sock']);
		await listener.close();
	});

	it('does not take the place of one that answers, which goes on untouched', async () => {
		await using place = await tempSocket();
		const first = await listen({ path: place.path }, { accept });
		const { ino } = lstatSync(place.path);
		await expect(listen({ path: place.path }, { accept })).rejects.toThrow(`already listens at ${place.path}`);
		expect(lstatSync(place.path).ino).toBe(ino);
		await using _client = await RawClient.open(place.path);
		await first.close();
	});

	it('of two that start together over a stale socket, one listens and the other refuses', async () => {
		for (let turn = 0; turn < 5; turn++) {
			await using place = await tempSocket();
			await leaveStaleSocket(place.path);
			const outcomes = await Promise.allSettled([
				listen({ path: place.path }, { accept }),
				listen({ path: place.path }, { accept }),
			]);
			const listening = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
			expect(listening).toHaveLength(1);
			await using _client = await RawClient.open(place.path);
			await listening[0]?.close();
		}
	});

	it('leaves alone what is no socket', async () => {
		await using place = await tempSocket();
		writeFileSync(place.path, 'precious');
		await expect(listen({ path: place.path }, { accept })).rejects.toThrow('is not a socket');
		expect(readdirSync(place.directory)).toEqual(['sidecar.sock']);
	});

	it('on its close it leaves alone a socket that another process has put in its place', async () => {
		await using place = await tempSocket();
		const listener = await listen({ path: place.path }, { accept });
		const other = createServer().listen(join(place.directory, 'other'));
		await once(other, 'listening');
		renameSync(join(place.directory, 'other'), place.path);
		const { ino } = lstatSync(place.path);
		await listener.close();
		expect(lstatSync(place.path).ino).toBe(ino);
		other.close();
	});

	it('beside its path it disturbs nobody until it is published, and then whoever was there knows', async () => {
		await using place = await tempSocket();
		const first = await listen({ path: place.path }, { accept });
		const second = await listen({ path: place.path }, { accept, beside: true });
		expect(await first.place?.isReplaced()).toBe(false);
		await expect(listen({ path: place.path }, { accept, beside: true })).rejects.toThrow('is taking over');
		await expect(second.place?.publish('if free')).rejects.toThrow('already listens');
		await second.place?.publish('replace');
		expect(await first.place?.isReplaced()).toBe(true);
		await first.close();
		await using _client = await RawClient.open(place.path);
		expect(readdirSync(place.directory)).toEqual(['sidecar.sock']);
		await second.close();
		expect(readdirSync(place.directory)).toEqual([]);
	});

	it('a take-over replaces sockets alone: a file at the path is kept', async () => {
		await using place = await tempSocket();
		writeFileSync(place.path, 'precious');
		await expect(listen({ path: place.path }, { accept, beside: true, flag: '--grpc' })).rejects.toThrow(
			'is not a socket: remove it, or choose another path with --grpc',
		);
		rmSync(place.path);
		const late = await listen({ path: place.path }, { accept, beside: true });
		writeFileSync(place.path, 'precious');
		await expect(late.place?.publish('replace')).rejects.toThrow('is not a socket');
		await late.close();
		expect(readdirSync(place.directory)).toEqual(['sidecar.sock']);
		expect(readFileSync(place.path, 'utf8')).toBe('precious');
	});

	it('a successor that has lost its name to another one publishes neither', async () => {
		await using place = await tempSocket();
		const first = await listen({ path: place.path }, { accept });
		const second = await listen({ path: place.path }, { accept, beside: true });
		rmSync(`${place.path}.next`);
		const third = await listen({ path: place.path }, { accept, beside: true });
		await expect(second.place?.publish('replace')).rejects.toThrow('replaced by another process: start again');
		expect(await first.place?.isReplaced()).toBe(false);
		await second.close();
		await third.place?.publish('replace');
		expect(await first.place?.isReplaced()).toBe(true);
		await first.close();
		await third.close();
	});

	it('takes its path back from a successor that has died, and from nobody else', async () => {
		await using place = await tempSocket();
		let accepted = 0;
		const first = await listen({ path: place.path }, { accept: () => accepted++ });
		await leaveStaleSocket(`${place.path}.next`);
		renameSync(`${place.path}.next`, place.path);
		await leaveStaleSocket(`${place.path}.next`);
		await first.place?.restore();
		expect(readdirSync(place.directory)).toEqual(['sidecar.sock']);
		await using _client = await RawClient.open(place.path);
		await waitFor('the connection', () => accepted > 0);
		const second = await listen({ path: place.path }, { accept, beside: true });
		await second.place?.publish('replace');
		const { ino } = lstatSync(place.path);
		await first.place?.restore();
		expect(lstatSync(place.path).ino).toBe(ino);
		await first.close();
		await second.close();
	});

	it('refuses a path that the kernel would cut, and a directory that does not exist', async () => {
		await expect(listen({ path: `/tmp/${'x'.repeat(120)}` }, { accept })).rejects.toThrow('bytes long');
		await expect(listen({ path: '/tmp/spock-none/x.sock' }, { accept })).rejects.toThrow('directory does not exist');
	});

	it('makes its private directory for this user alone, and refuses one that others may change', async () => {
		await using place = await tempSocket();
		const path = join(place.directory, 'mine', 'sidecar.sock');
		const listener = await listen({ path }, { accept, privateDirectory: true });
		expect(lstatSync(join(place.directory, 'mine')).mode & 0o777).toBe(0o700);
		await listener.close();
		mkdirSync(join(place.directory, 'open'));
		chmodSync(join(place.directory, 'open'), 0o777);
		await expect(
			listen({ path: join(place.directory, 'open', 'sidecar.sock') }, { accept, privateDirectory: true }),
		).rejects.toThrow('only this user may change');
	});
});

describe('TCP', () => {
	it('refuses an address that other machines can reach, unless it is told otherwise', async () => {
		for (const host of ['0.0.0.0', '::', '192.0.2.1']) {
			await expect(listen({ host, port: 0 }, { accept })).rejects.toThrow('--listen-any');
		}
		const listener = await listen({ host: '127.0.0.1', port: 0 }, { accept });
		expect(listener.address).toMatch(/^127\.0\.0\.1:[1-9]\d*$/);
		await expect(
			listen({ host: '127.0.0.1', port: Number(listener.address.split(':')[1]) }, { accept }),
		).rejects.toThrow('another process listens there');
		await listener.close();
	});
});

it('a TLS port that is taken leaves no timer behind, however often it is tried', async () => {
	await using taken = createServer().listen(0, '127.0.0.1');
	await once(taken, 'listening');
	const { port } = taken.address() as { readonly port: number };
	const clock = new FakeClock();
	const secrets = {};
	const strangers = new Strangers(10, accept);
	const limits = { handshakeMs: 1000, connectionsMax: 10, strangers };
	const tls = { tls: { secrets, look: async () => undefined }, clock, ...limits, failed: accept, refused: accept };
	for (let attempt = 0; attempt < 20; attempt++) {
		await expect(listen({ host: '127.0.0.1', port }, { accept, tls })).rejects.toThrow('another process listens there');
	}
	expect(clock.pendingTimers).toBe(0);
});

it('a storm of connections, more than the usual backlog of 511, is taken whole while the process is busy', async () => {
	await using place = await tempSocket();
	let accepted = 0;
	const listener = await listen({ path: place.path }, { accept: () => accepted++ });
	// Nothing is accepted before this tick is over: until then all of them are in the kernel's queue.
	const outcomes = Array.from({ length: STORM }, () => {
		const socket = createConnection(place.path);
		return new Promise<string>((resolve) => {
			socket.once('connect', () => resolve('connected'));
			socket.once('error', (error: NodeJS.ErrnoException) => resolve(String(error.code)));
		}).finally(() => socket.destroy());
	});
	expect(new Set(await Promise.all(outcomes))).toEqual(new Set(['connected']));
	await waitFor('the last of them', () => accepted === STORM);
	await listener.close();
});
