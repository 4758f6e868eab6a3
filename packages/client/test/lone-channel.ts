import { FrameDecoder } from '@spock/protocol';
import { FakeClock } from '@spock/testkit';

import { type CallRequest, callClock, OutgoingCall, PLAIN } from '../src/calls/outgoing-call.ts';
import { type ChannelLimits, RequestChannel } from '../src/calls/request-channel.ts';

/** A channel without a socket, before hello was answered, and what it wrote and reported. */
export interface LoneChannel {
	readonly channel: RequestChannel;
	readonly clock: FakeClock;
	readonly written: string[];
	/** The kind of each fault, and the pushes. */
	readonly faults: string[];
	/** The message of each fault. */
	readonly reasons: string[];
	/** How often it has reported the end of a drain, and time-outs. */
	emptied(): number;
	timeouts(): number;
	/** Sends a ping within 100 ms, but for what is given. */
	send(request: Partial<CallRequest>): Promise<unknown>;
	call(timeoutMs?: number, signal?: AbortSignal, traits?: CallRequest['traits'], func?: string): Promise<unknown>;
	/** The id in the frame that was written at this place. */
	idOf(index: number): number;
	/** Bytes that the peer has not taken, from now on. */
	buffer(bytes: number): void;
}

export function makeChannel(limits: Partial<ChannelLimits> = {}): LoneChannel {
	const clock = new FakeClock();
	const written: string[] = [];
	const faults: string[] = [];
	const reasons: string[] = [];
	let emptied = 0;
	let timeouts = 0;
	let bufferedBytes = 0;
	const channel = new RequestChannel(
		{
			write: (line) => written.push(line),
			bufferedBytes: () => bufferedBytes,
			push: ({ event }) => faults.push(`push ${event}`),
			fault: (kind, message) => {
				faults.push(kind);
				reasons.push(message);
			},
			timedOut: () => timeouts++,
			emptied: () => emptied++,
		},
		clock,
		{ inFlightMax: 4, pendingOutputBytesMax: 1000, waitingMax: 100, whileNarrowed: 'wait', ...limits },
	);
	const send = (request: Partial<CallRequest>): Promise<unknown> => {
		const { func = 'ping' } = request;
		const tail = `,"func":"${func}"}\n`;
		const whole = { func, tail, traits: PLAIN, timeoutMs: 100, signal: undefined, ...request };
		const settled = new Promise((resolve, reject) =>
			channel.send(new OutgoingCall(whole, callClock({ clock, address: { path: '/nowhere' } }), resolve, reject)),
		);
		settled.catch(() => undefined);
		return settled;
	};
	return {
		channel,
		clock,
		written,
		faults,
		reasons,
		emptied: () => emptied,
		timeouts: () => timeouts,
		send,
		call: (timeoutMs = 100, signal, traits = PLAIN, func = 'ping') => send({ timeoutMs, signal, traits, func }),
		idOf: (index) => (JSON.parse(written[index] ?? '{}') as { id: number }).id,
		buffer: (bytes) => {
			bufferedBytes = bytes;
		},
	};
}

/** Gives the channel a frame as a session would. */
export function receive(channel: RequestChannel, frame: string): void {
	const decoder = new FrameDecoder({
		frame: (text) => channel.receive(text),
		numbered: (id, rest) => channel.receiveNumbered(id, rest),
		fault: (code) => {
			throw new Error(code);
		},
	});
	decoder.push(Buffer.from(`${frame}\n`));
}
