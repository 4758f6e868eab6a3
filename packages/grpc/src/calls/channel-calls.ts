import { type Client, status } from '@grpc/grpc-js';
import type { Clock } from '@spock/protocol/internal';

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
export class ChannelCalls {
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
			// From here on it is told its end.
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
