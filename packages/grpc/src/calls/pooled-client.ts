import { type Client, status } from '@grpc/grpc-js';
import type { Clock } from '@spock/protocol/internal';

/** A client and its calls. A channel that is closed fails the calls that still wait for its connection, so it is closed last. */
export class PooledClient<C extends Client> {
	readonly client: C;
	readonly calls: ChannelCalls;
	readonly #clock: Clock;
	readonly #closed: (pooled: PooledClient<C>) => void;
	#state: 'open' | 'closed' = 'open';
	#inFlight = 0;
	#idleSinceMs: number;
	#onIdle: (() => void) | undefined;

	/** `closed` is called once, when the client has been closed. */
	constructor(client: C, clock: Clock, closed: (pooled: PooledClient<C>) => void) {
		this.client = client;
		this.calls = new ChannelCalls(client.getChannel(), clock);
		this.#clock = clock;
		this.#closed = closed;
		this.#idleSinceMs = clock.now();
	}

	/** When its last call ended, or it was made; undefined while there are calls. */
	get idleSinceMs(): number | undefined {
		return this.#inFlight === 0 ? this.#idleSinceMs : undefined;
	}

	begin(): void {
		this.#inFlight++;
	}

	end(): void {
		this.#inFlight--;
		this.#idleSinceMs = this.#clock.now();
		if (this.#inFlight === 0) this.#onIdle?.();
	}

	/** Closes the client once its calls have ended, or `close` was called. No call begins after. */
	async drain(): Promise<void> {
		if (this.#inFlight > 0 && this.#state === 'open') {
			await new Promise<void>((resolve) => {
				this.#onIdle = resolve;
			});
		}
		this.close();
	}

	/** Cancels what is under way, and closes the client. Idempotent. */
	close(): void {
		if (this.#state === 'closed') return;
		this.#state = 'closed';
		this.calls.cancel('the pool was closed');
		this.client.close();
		this.#closed(this);
		this.#onIdle?.();
	}
}

type Channel = ReturnType<Client['getChannel']>;
type Call = ReturnType<Channel['createCall']>;
type Listener = Parameters<Call['start']>[1];

/** When the first answer of what is called came. */
export interface FirstAnswer {
	/** As the clock tells; undefined before. */
	atMs: number | undefined;
}

/**
 * The calls on the channel of one client: which of them are under way, and when they were first answered. A client has no
 * other place to see all of them: its interceptors give way to those of a call, and a channel that is closed lets its calls go on.
 */
class ChannelCalls {
	readonly #clock: Clock;
	readonly #started = new Set<Call>();
	#answer: FirstAnswer | undefined;

	constructor(channel: Channel, clock: Clock) {
		this.#clock = clock;
		const createCall = channel.createCall.bind(channel);
		channel.createCall = (...args) => this.#watched(createCall(...args));
	}

	/** Does it, and notes in `answer` when the first of the calls that it begins at once is answered, by headers or by its end. */
	during<T>(answer: FirstAnswer, begin: () => T): T {
		this.#answer = answer;
		try {
			return begin();
		} finally {
			this.#answer = undefined;
		}
	}

	/** Ends every call with CANCELLED. */
	cancel(details: string): void {
		for (const call of this.#started) call.cancelWithStatus(status.CANCELLED, details);
	}

	#watched(call: Call): Call {
		const answer = this.#answer;
		const start = call.start.bind(call);
		const answered = (): void => {
			if (answer !== undefined) answer.atMs ??= this.#clock.now();
		};
		call.start = (metadata, listener: Listener) => {
			// From here on it is notified of its end.
			this.#started.add(call);
			start(metadata, {
				onReceiveMetadata: (received) => {
					answered();
					listener.onReceiveMetadata(received);
				},
				onReceiveMessage: (message) => listener.onReceiveMessage(message),
				onReceiveStatus: (received) => {
					answered();
					this.#started.delete(call);
					listener.onReceiveStatus(received);
				},
			});
		};
		return call;
	}
}
