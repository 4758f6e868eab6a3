import { rename, rm } from 'node:fs/promises';
import type { Duplex } from 'node:stream';

import {
	encodeFailure,
	encodePayload,
	encodeReply,
	FRAME_BYTES_MAX_FLOOR,
	readClientMessage,
	SpockError,
} from '@spock/protocol';
import type { Clock, TimerHandle } from '@spock/protocol/internal';
import { assertSocketPathFits, FramedSocket } from '@spock/protocol/node';

import { closeServer, explain } from '../listen/bind.ts';
import type { PublishedSocketPath, SocketPathState } from '../listen/listener.ts';
import {
	assertReplaceable,
	bindUnpublished,
	discard,
	isStale,
	lstatIfThere,
	publish,
	removeIfOurs,
	type UnpublishedSocket,
} from '../listen/unix-listener.ts';
import { type KnownQueries, privatePathOf, STEPS } from './messages.ts';

/** Connections at once: one of a successor, and a few dead ones that are not noticed yet. The oldest is closed to make room. */
const CONNECTIONS_MAX = 4;

/** How long a connection may take to `begin`. After that it may stay open: the successor's settings bound its warm-up. */
const BEGIN_MS_MAX = 10_000;

/** The user of this process alone. */
const PRIVATE_MODE = 0o600;

/** What the socket reports to. */
export interface PrivateSocketOptions {
	/** The public path of this sidecar. */
	readonly path: string;
	readonly clock: Clock;
	/** `successor` is the same object for all calls of one connection. Throws a SpockError to refuse. */
	readonly begin: (successor: object) => KnownQueries;
	readonly finish: () => Promise<void>;
	/** The connection is gone. */
	readonly left: (successor: object) => void;
	readonly acceptFailed: (error: Error) => void;
}

/**
 * The socket beside the public one that a successor connects to. Its mode admits only processes of the same user. Whichever process owns
 * the public path owns this one too, so it needs no lock.
 */
export class PrivateSocket implements Pick<PublishedSocketPath, 'restore'> {
	readonly #options: PrivateSocketOptions;
	readonly #at: string;
	/** What each connection has to call next, the oldest connection first. */
	readonly #next = new Map<FramedSocket, number>();
	#bound: UnpublishedSocket | undefined;
	#opening: Promise<void> | undefined;
	#closing: Promise<void> | undefined;

	/** Throws a RangeError if the path is too long. Nothing is bound before `open`. */
	constructor(options: PrivateSocketOptions) {
		this.#options = options;
		this.#at = privatePathOf(options.path);
		assertSocketPathFits(this.#at, process.platform);
	}

	/** Listens, in place of whatever socket is there. Rejects with an Error that says what to do. Idempotent. */
	open(): Promise<void> {
		this.#opening ??= this.#open();
		return this.#opening;
	}

	/** Rejects with an Error that says what to do if the file there is not a socket. */
	assertReplaceable(): Promise<void> {
		return assertReplaceable(this.#at);
	}

	async #open(): Promise<void> {
		await this.assertReplaceable();
		await this.#bind((name) => rename(name, this.#at));
	}

	/** Listens there again if its file is gone, or is that of a dead process. Leaves anything else alone. */
	async restore(): Promise<SocketPathState> {
		const before = this.#bound;
		if (before === undefined || this.#closing !== undefined) return 'ours';
		const found = await lstatIfThere(this.#at);
		if (found !== undefined && (!found.isSocket() || found.ino === before.ino || !(await isStale(this.#at))))
			return 'ours';
		await this.#bind((name) => publish(name, this.#at, `another process listens at ${this.#at}`));
		await discard(before);
		// Asked to close meanwhile: release what was just bound.
		if (this.#closing !== undefined) await this.#release();
		return 'restored';
	}

	/** Ends every connection, and removes the file if it is still ours. Idempotent. */
	close(): Promise<void> {
		for (const framed of this.#next.keys()) framed.destroy();
		const release = (): Promise<void> => this.#release();
		this.#closing ??= this.#opening === undefined ? release() : this.#opening.then(release, release);
		return this.#closing;
	}

	async #bind(publishAs: (name: string) => Promise<void>): Promise<void> {
		const { path, acceptFailed } = this.#options;
		const accept = (socket: Duplex): void => this.#accept(socket);
		const bound = await bindUnpublished(path, { socketMode: PRIVATE_MODE, backlog: 16, accept, acceptFailed });
		try {
			await publishAs(bound.name);
		} catch (error) {
			await discard(bound);
			throw explain(error, this.#at);
		}
		await rm(bound.name, { force: true });
		this.#bound = bound;
	}

	async #release(): Promise<void> {
		if (this.#bound === undefined) return;
		await removeIfOurs(this.#at, this.#bound.ino);
		await closeServer(this.#bound.server);
	}

	#accept(socket: Duplex): void {
		const { clock, left } = this.#options;
		const [oldest] = this.#next.keys();
		if (oldest !== undefined && this.#next.size >= CONNECTIONS_MAX) {
			this.#next.delete(oldest);
			oldest.destroy();
		}
		const framed = new FramedSocket(
			socket,
			{
				frame: (text) => void this.#answer(framed, text, timer),
				fault: () => framed.destroy(),
				ended: () => framed.end(),
				closed: () => {
					clock.clearTimeout(timer);
					this.#next.delete(framed);
					left(framed);
				},
			},
			{ frameBytesMax: FRAME_BYTES_MAX_FLOOR },
		);
		const timer = clock.setTimeout(() => framed.destroy(), BEGIN_MS_MAX);
		this.#next.set(framed, 0);
	}

	/** Each step once, in order, so that no connection can make this sidecar answer endlessly. */
	async #answer(framed: FramedSocket, text: string, timer: TimerHandle): Promise<void> {
		const message = readClientMessage(text);
		const at = this.#next.get(framed);
		const step = at === undefined ? undefined : STEPS[at];
		if (at === undefined || step === undefined || message.kind !== 'request' || message.func !== step) {
			framed.destroy();
			return;
		}
		this.#next.set(framed, at + 1);
		this.#options.clock.clearTimeout(timer);
		try {
			const data = step === 'begin' ? this.#options.begin(framed) : await this.#options.finish();
			framed.write(encodeReply(message.id, encodePayload(data)));
		} catch (error) {
			framed.write(encodeFailure(message.id, SpockError.from(error).toWire()));
		}
	}
}
