import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';

import { type EventWindow, encodePayload, encodePush, type RefusedEvent } from '@spock/protocol';
import { FramedSocket } from '@spock/protocol/node';

interface Frame {
	readonly id?: number;
	readonly seq?: number;
	readonly func?: string;
	readonly data?: unknown;
}

/** A sidecar that takes the events of one producer, as far as a test says. */
export class FakeNext {
	/** Of the answers to hello. */
	features: readonly string[] = ['events', 'gaps'];
	/** Of the answers to `openProducer`. */
	window: EventWindow = { bytes: 1_000_000, events: 1000 };
	persisted = 0;
	/** Another answer, as lines without the last end; `hold`: none; undefined: the usual one. */
	answers: (func: string) => string | undefined = () => undefined;
	/** The data of every `openProducer`. */
	readonly openings: unknown[] = [];
	/** Connections so far. */
	accepted = 0;
	/** What the last hello has offered beside `events` and `gaps`. */
	offered: readonly string[] = [];
	readonly #server: Server;
	readonly #sockets = new Set<Socket>();
	#seqs: number[] = [];
	#callLine: FramedSocket | undefined;
	#producer = '';
	#uplink: Socket | undefined;
	#changed: () => void = () => undefined;

	static async listen(): Promise<FakeNext> {
		const next = new FakeNext();
		next.#server.listen(0, '127.0.0.1');
		await once(next.#server, 'listening');
		return next;
	}

	private constructor() {
		this.#server = createServer((socket) => this.#accept(socket));
	}

	get access(): { readonly host: string; readonly port: number } {
		return { host: '127.0.0.1', port: (this.#server.address() as AddressInfo).port };
	}

	/** The first `openProducer`. */
	async opening(): Promise<unknown> {
		await this.#until(() => this.openings.length > 0);
		return this.openings[0];
	}

	/** The next so many events that came. */
	async seqs(count: number): Promise<readonly number[]> {
		await this.#until(() => this.#seqs.length >= count);
		return this.#seqs.splice(0, count);
	}

	/** Resolves when nobody is connected. */
	async left(): Promise<void> {
		await this.#until(() => this.#sockets.size === 0);
	}

	seqsNow(): readonly number[] {
		return this.#seqs;
	}

	acked(persisted: number, refused?: readonly RefusedEvent[]): void {
		this.persisted = Math.max(this.persisted, persisted);
		this.#push('acked', { persisted, ...(refused && { refused }) });
	}

	windowed(window: EventWindow): void {
		this.window = window;
		this.#push('eventWindow', window);
	}

	/** A push of any kind, to whoever opened the producer. */
	say(event: string, data: unknown): void {
		this.#callLine?.write(`${JSON.stringify({ event, data })}\n`);
	}

	/** It is about to end. */
	goaway(): void {
		this.#callLine?.write(encodePush('goaway', encodePayload({ reason: 'shutdown', graceMs: 0 })));
	}

	/** Ends every connection. */
	drop(): void {
		for (const socket of this.#sockets) socket.destroy();
	}

	dropUplink(): void {
		this.#uplink?.destroy();
	}

	close(): void {
		this.drop();
		this.#server.close();
	}

	#push(event: 'acked' | 'eventWindow', data: object): void {
		this.#callLine?.write(encodePush(event, encodePayload({ producer: this.#producer, epoch: 1, ...data })));
	}

	#accept(socket: Socket): void {
		this.accepted++;
		this.#sockets.add(socket);
		socket.on('close', () => {
			this.#sockets.delete(socket);
			this.#changed();
		});
		const framed: FramedSocket = new FramedSocket(socket, {
			frame: (text) => {
				this.#take(framed, socket, JSON.parse(text) as Frame);
				this.#changed();
			},
			fault: () => socket.destroy(),
			ended: () => framed.end(),
			closed: () => undefined,
		});
	}

	#take(framed: FramedSocket, socket: Socket, { id, seq, func = '', data }: Frame): void {
		if (seq !== undefined) this.#seqs.push(seq);
		if (func === 'uplink') {
			this.#uplink = socket;
			this.#seqs = [];
		}
		if (id === undefined) return;
		const other = this.answers(func);
		if (other === 'hold') return;
		if (func === 'openProducer') {
			this.openings.push(data);
			// A further one only asks.
			if (this.#callLine === undefined || this.#callLine.closed) this.#callLine = framed;
			this.#producer = (data as { producer: string }).producer;
		} else if (func === 'hello') this.offered = (data as { features: readonly string[] }).features;
		framed.write(`${other ?? JSON.stringify({ id, data: this.#answer(func) })}\n`);
	}

	#answer(func: string): unknown {
		const { features, persisted, window } = this;
		if (func === 'ping') return null;
		if (func === 'hello') return { version: 1, sidecar: 'a fake one', instance: 'i', features, limits: {} };
		return { producer: this.#producer, epoch: 1, persisted, stored: {}, window, eventBytesMax: 524_288, ticket: 't' };
	}

	async #until(holds: () => boolean): Promise<void> {
		while (!holds()) {
			await new Promise<void>((resolve) => {
				this.#changed = resolve;
			});
		}
	}
}
