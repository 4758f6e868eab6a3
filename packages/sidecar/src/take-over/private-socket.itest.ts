import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, lstatSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';

import { systemClock } from '@spock/protocol/internal';
import { FakeClock, type TempSocket, tempSocket, waitFor } from '@spock/testkit';
import { describe, expect, it, vi } from 'vitest';

import { HandOver } from './hand-over.ts';
import { privatePathOf } from './messages.ts';
import { findPredecessor } from './predecessor.ts';

const NOBODY = 65_534;

/** A sidecar as its successor sees it: only the private socket, beside a path at which anything may stand. */
class Subject implements AsyncDisposable {
	readonly at: string;
	readonly handOver: HandOver;
	isReplaced = false;
	left = 0;
	restored = 0;

	private constructor({ path }: TempSocket, clock: FakeClock) {
		this.at = privatePathOf(path);
		const restore = async (): Promise<'ours'> => {
			this.restored++;
			return 'ours';
		};
		this.handOver = new HandOver({
			clock,
			path,
			isStarting: () => false,
			isServing: () => this.left === 0,
			places: () => [{ isReplaced: async () => this.isReplaced, publish: async () => undefined, restore }],
			otherPlaces: () => [],
			known: () => ({ services: [{ service: 'barista' }], keys: [{ key: 'app/limits' }] }),
			leave: async () => void this.left++,
			failed: () => undefined,
			acceptFailed: () => undefined,
		});
	}

	static async open(place: TempSocket, clock = new FakeClock()): Promise<Subject> {
		const subject = new Subject(place, clock);
		await subject.handOver.open();
		return subject;
	}

	async [Symbol.asyncDispose](): Promise<void> {
		await this.handOver.close();
	}
}

async function opened(at: string): Promise<Socket> {
	const socket = connect(at);
	socket.on('error', () => undefined);
	await once(socket, 'connect');
	return socket;
}

/** Leaves a socket behind as a process does that was killed: bound, and nobody there. */
async function leaveStaleSocket(path: string): Promise<void> {
	const child = spawn(process.execPath, ['-e', `require('node:net').createServer().listen(${JSON.stringify(path)})`]);
	await waitFor('the socket', () => existsSync(path));
	child.kill('SIGKILL');
	await once(child, 'close');
}

describe('the private socket of a sidecar', () => {
	it('is for its user alone, and gone after the close', async () => {
		await using place = await tempSocket();
		await using subject = await Subject.open(place);
		expect(lstatSync(subject.at).mode & 0o777).toBe(0o600);
		expect(readdirSync(place.directory)).toEqual(['sidecar.sock.take-over']);
		await subject.handOver.close();
		expect(readdirSync(place.directory)).toEqual([]);
	});

	it.skipIf(process.geteuid?.() !== 0)('lets no process of another user in', async () => {
		await using place = await tempSocket();
		await using subject = await Subject.open(place);
		chmodSync(place.directory, 0o755);
		// The kernel decides within the call. In this process: another user may not be able to start this Node.
		process.seteuid?.(NOBODY);
		const socket = connect(subject.at);
		process.seteuid?.(0);
		const [error] = await once(socket, 'error');
		expect(error).toMatchObject({ code: 'EACCES' });
	});

	it('is not spoken to if it belongs to another user', async () => {
		await using place = await tempSocket();
		await using subject = await Subject.open(place);
		let accepted = 0;
		rmSync(subject.at);
		await using squatter = createServer(() => accepted++).listen(subject.at);
		await once(squatter, 'listening');
		const geteuid = vi.spyOn(process, 'geteuid').mockReturnValue(NOBODY);
		try {
			await expect(findPredecessor(place.path, systemClock)).rejects.toThrow('only a sidecar of the same user');
		} finally {
			geteuid.mockRestore();
		}
		await using _own = await opened(subject.at);
		await waitFor('the one connection', () => accepted > 0);
		expect(accepted).toBe(1);
	});

	it('tells a successor what is known, and believes it when its socket stands at the path', async () => {
		await using place = await tempSocket();
		await using subject = await Subject.open(place);
		const early = await findPredecessor(place.path, systemClock);
		expect(await early?.begin(5000)).toEqual({ services: [{ service: 'barista' }], keys: [{ key: 'app/limits' }] });
		await expect(early?.finish(5000)).rejects.toMatchObject({ code: 'BAD_REQUEST' });
		early?.close();
		subject.isReplaced = true;
		const successor = await findPredecessor(place.path, systemClock);
		await successor?.begin(5000);
		await successor?.finish(5000);
		expect(subject.left).toBe(1);
		successor?.close();
	});

	it('notices a successor that is gone half-way', async () => {
		await using place = await tempSocket();
		const clock = new FakeClock();
		await using subject = await Subject.open(place, clock);
		const successor = await findPredecessor(place.path, systemClock);
		await successor?.begin(5000);
		successor?.close();
		await waitFor('a look at the path', async () => {
			await clock.advance(1);
			return subject.restored > 0;
		});
	});

	it.each([
		['garbage', 'garbage\n'],
		['a function of the public protocol', '{"id":1,"func":"ping"}\n'],
		['finish before begin', '{"id":1,"func":"finish"}\n'],
		['begin twice', '{"id":1,"func":"begin"}\n{"id":2,"func":"begin"}\n'],
		['a frame that is too long', `{"id":1,"func":"begin","data":"${'x'.repeat(2000)}"}\n`],
		['a frame without an end', 'x'.repeat(2000)],
	])('cuts off %s, and goes on', async (_what, bytes) => {
		await using place = await tempSocket();
		await using subject = await Subject.open(place);
		await using socket = await opened(subject.at);
		socket.resume().write(bytes);
		await once(socket, 'close');
		const successor = await findPredecessor(place.path, systemClock);
		expect(await successor?.begin(5000)).toMatchObject({ keys: [{ key: 'app/limits' }] });
		successor?.close();
		expect(subject.left).toBe(0);
	});

	it('cuts off a connection that says nothing, and keeps a successor that has begun', async () => {
		await using place = await tempSocket();
		const clock = new FakeClock();
		await using subject = await Subject.open(place, clock);
		await using silent = await opened(subject.at);
		const successor = await findPredecessor(place.path, systemClock);
		await successor?.begin(5000);
		const isCutOff = once(silent.resume(), 'close');
		await clock.advance(10_000);
		await isCutOff;
		subject.isReplaced = true;
		await successor?.finish(5000);
		expect(subject.left).toBe(1);
		successor?.close();
	});

	it('holds four connections: the oldest makes room for the next', async () => {
		await using place = await tempSocket();
		await using subject = await Subject.open(place);
		// Less than the backlog at once: the sidecar accepts them in one turn of its loop.
		const sockets = await Promise.all(Array.from({ length: 12 }, () => opened(subject.at)));
		let closed = 0;
		for (const socket of sockets) socket.resume().once('close', () => closed++);
		await waitFor('the old ones to be gone', () => closed === 8);
		expect(sockets.slice(8).map((socket) => socket.destroyed)).toEqual([false, false, false, false]);
		const successor = await findPredecessor(place.path, systemClock);
		expect(await successor?.begin(5000)).toMatchObject({ services: [{ service: 'barista' }] });
		successor?.close();
		for (const socket of sockets) socket.destroy();
	});

	it('takes the place of one that a killed sidecar left, and is put back when its file is dead or gone', async () => {
		await using place = await tempSocket();
		await leaveStaleSocket(privatePathOf(place.path));
		await using subject = await Subject.open(place);
		const [socket] = subject.handOver.places;
		expect(await socket?.restore()).toBe('ours');
		rmSync(subject.at);
		expect(await socket?.restore()).toBe('restored');
		rmSync(subject.at);
		await leaveStaleSocket(subject.at);
		expect(await socket?.restore()).toBe('restored');
		expect(lstatSync(subject.at).mode & 0o777).toBe(0o600);
		const successor = await findPredecessor(place.path, systemClock);
		expect(await successor?.begin(5000)).toMatchObject({ services: [{ service: 'barista' }] });
		successor?.close();
		expect(readdirSync(place.directory)).toEqual(['sidecar.sock.take-over']);
	});

	it('leaves that of its successor alone, also at its close', async () => {
		await using place = await tempSocket();
		await using old = await Subject.open(place);
		await using next = await Subject.open(place);
		const { ino } = lstatSync(next.at);
		expect(await old.handOver.places[0]?.restore()).toBe('ours');
		await old.handOver.close();
		expect(lstatSync(next.at).ino).toBe(ino);
	});

	it('leaves alone what is no socket', async () => {
		await using place = await tempSocket();
		writeFileSync(privatePathOf(place.path), 'precious');
		await expect(Subject.open(place)).rejects.toThrow('is not a socket: remove it');
		expect(readdirSync(place.directory)).toEqual(['sidecar.sock.take-over']);
	});

	it('is refused where its path would be cut by the kernel, before anything is bound', async () => {
		await using place = await tempSocket();
		const path = `${place.path}${'x'.repeat(98 - Buffer.byteLength(place.path))}`;
		await expect(Subject.open({ ...place, path })).rejects.toThrow(RangeError);
	});
});

describe('findPredecessor', () => {
	it('finds nobody where nothing listens, whatever files are left', async () => {
		await using place = await tempSocket();
		expect(await findPredecessor(place.path, systemClock)).toBe(undefined);
		await leaveStaleSocket(place.path);
		await leaveStaleSocket(privatePathOf(place.path));
		expect(await findPredecessor(place.path, systemClock)).toBe(undefined);
	});

	it('waits for the private socket of a sidecar that has just published its path', async () => {
		await using place = await tempSocket();
		await using starting = createServer((socket) => socket.destroy()).listen(place.path);
		await once(starting, 'listening');
		const clock = new FakeClock();
		const found = findPredecessor(place.path, clock);
		await waitFor('the first look', () => clock.pendingTimers === 1);
		await using late = createServer(() => undefined).listen(privatePathOf(place.path));
		await once(late, 'listening');
		await clock.advance(50);
		const predecessor = await found;
		expect(predecessor?.isClosed()).toBe(false);
		predecessor?.close();
	});

	it('a sidecar that does not answer is one that hangs; one that goes meanwhile is closed', async () => {
		await using place = await tempSocket();
		const sockets: Socket[] = [];
		await using hung = createServer((socket) => sockets.push(socket)).listen(privatePathOf(place.path));
		await once(hung, 'listening');
		const clock = new FakeClock();
		const predecessor = await findPredecessor(place.path, clock);
		const late = expect(predecessor?.begin(2000)).rejects.toMatchObject({ code: 'TIMEOUT' });
		await clock.advance(2000);
		await late;
		const gone = expect(predecessor?.finish(2000)).rejects.toMatchObject({ code: 'DISCONNECTED' });
		await waitFor('the connection', () => sockets.length === 1);
		sockets[0]?.destroy();
		await gone;
		expect(predecessor?.isClosed()).toBe(true);
		expect(clock.pendingTimers).toBe(0);
	});
});
