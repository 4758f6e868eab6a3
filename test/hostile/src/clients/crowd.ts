import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** Bytes that one hostile connection keeps unsent: it shall fill the sidecar and not itself. */
const UNSENT_BYTES_MAX = 1 << 20;
/** Connections being opened at once: the queue of a listening socket is finite. */
const OPENING_MAX = 64;
const REOPEN_MS = 10;
/** Between two writes while connections are filled, and how many without progress end that. */
const FILL_TURN_MS = 5;
const FILL_TURNS = 60;

/** The connections of one attacker. */
export class Crowd {
	/** How many `connections held` opens. */
	readonly connections: number;
	connects = 0;
	bytes = 0;
	readonly #path: string;
	readonly #sockets = new Set<Socket>();
	readonly #timers = new Set<NodeJS.Timeout>();
	#isOver = false;

	constructor(path: string, connections: number) {
		this.#path = path;
		this.connections = connections;
	}

	/** Opens so many; gives how many the sidecar took. */
	async open(count: number, options: { readonly reads?: boolean; readonly reopens?: boolean } = {}): Promise<number> {
		let left = count;
		const worker = async (): Promise<void> => {
			while (left-- > 0 && !this.#isOver) await this.#openOne(options);
		};
		await Promise.all(Array.from({ length: Math.min(count, OPENING_MAX) }, worker));
		return this.#sockets.size;
	}

	/** Opens so many more, and gives those. */
	async sockets(count: number): Promise<Socket[]> {
		const before = new Set(this.#sockets);
		await this.open(count);
		return [...this.#sockets].filter((socket) => !before.has(socket));
	}

	write(socket: Socket, data: string | Buffer): void {
		if (socket.destroyed || socket.writableLength > UNSENT_BYTES_MAX) return;
		this.bytes += data.length;
		socket.write(data);
	}

	each(act: (socket: Socket) => void): void {
		for (const socket of this.#sockets) act(socket);
	}

	/** Acts on every connection in turns. */
	everyMs(delayMs: number, act: (socket: Socket, turn: number) => void): void {
		let turn = 0;
		const timer = setInterval(() => {
			this.each((socket) => act(socket, turn));
			turn++;
		}, delayMs);
		this.#timers.add(timer);
	}

	/** Acts in turns, until it is over. */
	timerMs(delayMs: number, act: () => void): void {
		this.#timers.add(setInterval(act, delayMs));
	}

	/** Acts on one connection after the other: what a burst would make others wait for is not what is measured. */
	oneEachMs(delayMs: number, act: (socket: Socket) => void): void {
		const timer = setInterval(() => {
			const [socket] = this.#sockets;
			if (socket === undefined) return;
			// To the end of the row.
			this.#sockets.delete(socket);
			this.#sockets.add(socket);
			act(socket);
		}, delayMs);
		this.#timers.add(timer);
	}

	/** Writes to every connection without end, as fast as it takes it. */
	always(data: string): void {
		const go = (socket: Socket): void => {
			if (socket.destroyed || this.#isOver) return;
			this.bytes += data.length;
			// Not at once: what the kernel takes at once would leave this process no turn to hear that it shall stop.
			socket.write(data, () => setImmediate(go, socket));
		};
		this.each(go);
	}

	/** Writes to every connection until none has taken a byte for a while: the sidecar has had enough of them. */
	async fill(data: string): Promise<void> {
		for (let before = -1; before !== this.bytes; ) {
			before = this.bytes;
			for (let turn = 0; turn < FILL_TURNS; turn++) {
				this.each((socket) => this.write(socket, data));
				await delay(FILL_TURN_MS);
			}
		}
	}

	/** Lets go of everything. */
	stop(): void {
		this.#isOver = true;
		for (const timer of this.#timers) clearInterval(timer);
		this.each((socket) => socket.destroy());
	}

	async #openOne(options: { readonly reads?: boolean; readonly reopens?: boolean }): Promise<void> {
		const socket = connect({ path: this.#path });
		let isQueueFull = false;
		// Refused, reset, ended: whatever becomes of a hostile connection is no concern of its own.
		socket.on('error', ({ code }: NodeJS.ErrnoException) => {
			isQueueFull ||= code === 'EAGAIN';
		});
		socket.on('close', () => {
			this.#sockets.delete(socket);
			if (options.reopens && !this.#isOver) setTimeout(() => this.#isOver || void this.#openOne(options), REOPEN_MS);
		});
		if (options.reads === false) socket.pause();
		else socket.resume();
		// Both reject with an error of the socket, and either may be the first to.
		await Promise.race(['connect', 'close'].map((event) => once(socket, event).catch(() => undefined)));
		// As many wait to be accepted as may: one of them will have been in a moment.
		if (isQueueFull && !options.reopens && !this.#isOver) {
			await delay(REOPEN_MS);
			return this.#openOne(options);
		}
		// It was let go of meanwhile.
		if (this.#isOver) socket.destroy();
		if (socket.destroyed) return;
		this.connects++;
		this.#sockets.add(socket);
	}
}
