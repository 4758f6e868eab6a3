import { type EventWindow, encodePayload, type OpenProducerData, SpockError } from '@spock/protocol';
import { BACKGROUND } from '../../calls/outgoing-call.ts';
import type { ExtensionHost } from '../../connection/extension.ts';
import type { Session, SessionListener } from '../../connection/session.ts';
import { LineBytes } from './line-bytes.ts';
import type { OutboxLine } from './outbox.ts';
import type { OpenedProducer } from './read-progress.ts';

const RESOLVED: Promise<void> = Promise.resolve();

/** Notified by an uplink that was neither ended nor dropped. */
export interface UplinkOwner {
	/** Reads the answer to `openProducer`; throws PROTOCOL. */
	read(data: unknown): OpenedProducer;
	/** The producer is known, and the uplink takes its events. */
	opened(uplink: Uplink, opened: OpenedProducer): void;
	/** It cannot be opened, or its connection is gone. */
	failed(uplink: Uplink, error: SpockError): void;
}

type UplinkState =
	| { readonly name: 'opening'; readonly opened: OpenedProducer | undefined; readonly isGreeted: boolean }
	| { readonly name: 'open' | 'over' };

/**
 * The connection that carries events, and nothing else: after hello the sidecar writes nothing on it. So the events that the kernel
 * has taken reach the sidecar although this process is killed; where the sidecar answered, the answer that is not read would reset the
 * connection. What it says of the events comes on the call line.
 */
export class Uplink implements OutboxLine, SessionListener {
	/** Resolves when its connection is gone. */
	readonly gone: Promise<void>;
	readonly #host: ExtensionHost;
	/** Where the producer is opened, and where the sidecar reports. */
	readonly #callLine: Session;
	readonly #owner: UplinkOwner;
	#session: Session | undefined;
	#state: UplinkState = { name: 'opening', opened: undefined, isGreeted: false };
	#resolveGone: () => void = () => undefined;
	/** Lines of this tick. */
	readonly #pending = new LineBytes();
	#isFlushQueued = false;

	constructor(host: ExtensionHost, callLine: Session, owner: UplinkOwner) {
		this.#host = host;
		this.#callLine = callLine;
		this.#owner = owner;
		this.gone = new Promise((resolve) => {
			this.#resolveGone = resolve;
		});
	}

	/** Bytes that would be lost with this process. */
	get bufferedBytes(): number {
		return this.#pending.bytes + (this.#session?.bufferedBytes ?? 0);
	}

	/** False for a sidecar without events: it is asked nothing, and its owner says so. */
	get takesEvents(): boolean {
		return this.#callLine.greeting?.takesEvents === true;
	}

	openProducer(data: OpenProducerData): void {
		if (!this.takesEvents) return;
		this.#callLine.send(
			'openProducer',
			data,
			BACKGROUND,
			this.#host.options.timeoutMs,
			(reply) => this.#read(reply),
			// A full call line rejects it at once, while the outbox is at work.
			(error) => queueMicrotask(() => this.#fail(error)),
		);
	}

	/** At the same time as the producer is opened, which saves a round trip. */
	dialUplink(): void {
		if (this.takesEvents) this.#session = this.#host.dial(this, true);
	}

	write(line: string): void {
		this.#pending.add(line);
		if (this.#isFlushQueued) return;
		this.#isFlushQueued = true;
		// Not queueMicrotask, which makes an AsyncResource each time and costs twice as much.
		void RESOLVED.then(this.#flush);
	}

	/** The sidecar has changed its window; until the uplink is open, that is for its opening. */
	setWindow(window: EventWindow): void {
		const state = this.#state;
		if (state.name === 'opening' && state.opened !== undefined) {
			this.#state = { ...state, opened: { ...state.opened, window } };
		}
	}

	end(): void {
		this.#flush();
		this.#over();
		this.#session?.end();
	}

	drop(): void {
		this.#pending.take();
		this.#over();
		this.#session?.destroy();
	}

	greeted(): void {
		const state = this.#state;
		if (state.name === 'opening') this.#joined({ ...state, isGreeted: true });
	}

	closed(session: Session, error: SpockError): void {
		// Hello, if it was not answered: nobody waits for it any more.
		session.channel.takeAll();
		this.#session = undefined;
		this.#resolveGone();
		this.#fail(error);
	}

	refused(): void {
		// `closed` follows.
	}

	push(): void {
		// There are none on an uplink.
	}

	windowed(): void {
		// It carries no requests.
	}

	fault(): void {
		// As with pushes.
	}

	emptied(): void {
		// It is never drained: `end` waits for what was written.
	}

	#read(reply: unknown): void {
		const state = this.#state;
		if (state.name !== 'opening') return;
		let opened: OpenedProducer;
		try {
			opened = this.#owner.read(reply);
		} catch (error) {
			this.#fail(SpockError.from(error));
			return;
		}
		this.#joined({ ...state, opened });
	}

	#joined(state: UplinkState & { readonly name: 'opening' }): void {
		const { opened, isGreeted } = state;
		this.#state = state;
		// Nothing is written before hello is answered: the answer must have been read.
		if (opened === undefined || !isGreeted) return;
		this.#state = { name: 'open' };
		this.#session?.write(`{"func":"uplink","data":${encodePayload({ ticket: opened.ticket })}}\n`);
		this.#owner.opened(this, opened);
	}

	/**
	 * One write for all lines of a tick, or a few large ones. In pieces of 8 KiB, as a session writes them, a unix socket holds 94 kB of a peer that does not
	 * read: less than the first window, and what the kernel does not hold dies with this process.
	 */
	readonly #flush = (): void => {
		this.#isFlushQueued = false;
		for (const piece of this.#pending.take()) this.#session?.writeBytes(piece);
	};

	#over(): void {
		this.#state = { name: 'over' };
		if (this.#session === undefined) this.#resolveGone();
	}

	#fail(error: SpockError): void {
		if (this.#state.name === 'over') return;
		this.#owner.failed(this, error);
	}
}
