import { connect, type Socket } from 'node:net';

import { encodeRequest, encodeRequestTail, readSidecarMessage, SpockError } from '@spock/protocol';
import type { Clock, TimerHandle } from '@spock/protocol/internal';
import { FramedSocket, lstatOf } from '@spock/protocol/node';

import { isStale } from '../listen/unix-listener.ts';
import { type KnownQueries, privatePathOf, readKnownQueries, type Step } from './messages.ts';

/** One connection to the private socket of the sidecar in place. Both steps reject with TIMEOUT when no answer comes in time. */
export interface Predecessor {
	begin(timeoutMs: number): Promise<KnownQueries>;
	finish(timeoutMs: number): Promise<void>;
	/** True once the sidecar in place has gone. */
	isClosed(): boolean;
	close(): void;
}

/** A sidecar that has just started opens its private socket some milliseconds after the public one. */
const PRIVATE_SOCKET_LATE_MS = 1500;
const LOOK_AGAIN_MS = 50;

const WHAT_TO_DO = 'stop it, then start this one';

/**
 * Connects to the sidecar that listens at this path; undefined if there is none. Rejects with an Error that says what to do if
 * there is one that cannot be taken over.
 */
export async function findPredecessor(path: string, clock: Clock): Promise<Predecessor | undefined> {
	const deadlineMs = clock.now() + PRIVATE_SOCKET_LATE_MS;
	for (;;) {
		const found = await lookForPredecessor(path, clock);
		if (found !== 'no private socket') return found;
		if (clock.now() >= deadlineMs) break;
		await new Promise<void>((resolve) => clock.setTimeout(resolve, LOOK_AGAIN_MS));
	}
	throw new Error(
		`the process that listens at ${path} does not listen at ${privatePathOf(path)}, so it cannot be taken over: ` +
			`it is a sidecar of an earlier version, or no sidecar; ${WHAT_TO_DO}`,
	);
}

async function lookForPredecessor(path: string, clock: Clock): Promise<Predecessor | 'no private socket' | undefined> {
	const at = privatePathOf(path);
	try {
		assertSameUser(at);
		return new PredecessorConnection(await connected(at), clock);
	} catch (cause) {
		const { code, message } = cause as NodeJS.ErrnoException;
		if (code === undefined) throw cause;
		if (code !== 'ENOENT' && code !== 'ECONNREFUSED') {
			throw new Error(`cannot connect to the sidecar in place at ${at}: ${message}; ${WHAT_TO_DO}`, { cause });
		}
	}
	return (await isStale(path)) ? undefined : 'no private socket';
}

/** Throws for a socket that another user has put there: it would learn what this sidecar does, and decide what it asks. */
function assertSameUser(at: string): void {
	const found = lstatOf(at);
	const own = process.geteuid?.();
	// To connect fails where nothing is.
	if (found === undefined || own === undefined || Number(found.uid) === own) return;
	const message = `${at} belongs to user ${found.uid}, not to ${own}: only a sidecar of the same user can be taken over`;
	throw new Error(`${message}; run this one as that user, or stop the sidecar in place first`);
}

function connected(at: string): Promise<Socket> {
	return new Promise((resolve, reject) => {
		const socket = connect(at);
		socket.once('error', reject);
		socket.once('connect', () => {
			socket.off('error', reject);
			resolve(socket);
		});
	});
}

interface Waiting {
	readonly id: number;
	resolve(data: unknown): void;
	reject(error: Error): void;
}

class PredecessorConnection implements Predecessor {
	readonly #framed: FramedSocket;
	readonly #clock: Clock;
	#waiting: Waiting | undefined;
	#id = 0;

	constructor(socket: Socket, clock: Clock) {
		this.#clock = clock;
		this.#framed = new FramedSocket(socket, {
			frame: (text) => this.#read(text),
			fault: (_code, message) => this.#framed.destroy(new Error(message)),
			closed: (cause) => {
				const message = 'the sidecar in place closed the connection of the take-over';
				this.#waiting?.reject(new SpockError('DISCONNECTED', message, { cause }));
			},
		});
	}

	async begin(timeoutMs: number): Promise<KnownQueries> {
		return readKnownQueries(await this.#call('begin', timeoutMs));
	}

	async finish(timeoutMs: number): Promise<void> {
		await this.#call('finish', timeoutMs);
	}

	isClosed(): boolean {
		return this.#framed.closed;
	}

	close(): void {
		this.#framed.destroy();
	}

	async #call(step: Step, timeoutMs: number): Promise<unknown> {
		const id = ++this.#id;
		let timer: TimerHandle | undefined;
		try {
			return await new Promise((resolve, reject) => {
				if (this.#framed.closed) throw new SpockError('DISCONNECTED', 'the sidecar in place has ended');
				this.#waiting = { id, resolve, reject };
				const late = `the sidecar in place did not answer ${step} within ${timeoutMs} ms`;
				timer = this.#clock.setTimeout(() => reject(new SpockError('TIMEOUT', late)), timeoutMs);
				this.#framed.write(encodeRequest(id, encodeRequestTail(step, 'null')));
			});
		} finally {
			this.#clock.clearTimeout(timer);
		}
	}

	#read(text: string): void {
		const message = readSidecarMessage(text);
		// A late reply to a step that was abandoned does not answer the next one.
		if (message.kind === 'push' || message.id !== this.#waiting?.id) return;
		if (message.kind === 'reply') this.#waiting.resolve(message.data);
		else if (message.kind === 'failure') this.#waiting.reject(SpockError.fromWire(message.error));
	}
}
