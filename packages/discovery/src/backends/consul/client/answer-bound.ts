import type { EventEmitter } from 'node:events';
import type { IncomingMessage } from 'node:http';

import { SpockError } from '@spock/protocol';

/** The longest answer of Consul that is read: some 40,000 instances, where Consul itself is slow long before. */
export const DEFAULT_ANSWER_BYTES_MAX: number = 64 * 1024 * 1024;
/**
 * Values of JSON in an answer. One instance has about 80 of them, in some 1500 bytes; garbage such as `[{},{},…]` has one in two bytes
 * (measured: reading 45 MiB of it took 57 s, on two busy processors).
 */
const ANSWER_VALUES_MAX = 4_000_000;

const COMMA = 0x2c;
const LIST = 0x5b;
const OBJECT = 0x7b;

/** A call, as far as its answer goes. */
interface BoundedCall extends EventEmitter {
	readonly answerBytesMax: number | undefined;
}

/**
 * The npm package keeps all of a body in memory, and parses it in one turn: one that is too long is cut off while it comes. It is
 * FRAME_TOO_LARGE where the call has a limit of its own, else UNAVAILABLE: what is known already is served on.
 */
export function refuseLongBody(response: IncomingMessage, call: BoundedCall): void {
	const { answerBytesMax = DEFAULT_ANSWER_BYTES_MAX } = call;
	const code = call.answerBytesMax === undefined ? 'UNAVAILABLE' : 'FRAME_TOO_LARGE';
	let bytes = 0;
	let values = 0;
	const refuse = (what: string): void => {
		response.off('data', count);
		const message = `Consul's response has more than ${what}: narrow the query, or check that this address is Consul`;
		call.emit('broken', new SpockError(code, message, { details: { answerBytesMax, isRefused: true } }));
	};
	const count = (chunk: Buffer): void => {
		bytes += chunk.length;
		for (const byte of chunk) if (byte === COMMA || byte === LIST || byte === OBJECT) values++;
		if (bytes > answerBytesMax) refuse(`${answerBytesMax} bytes`);
		else if (values > ANSWER_VALUES_MAX) refuse(`${ANSWER_VALUES_MAX} values`);
	};
	response.on('data', count);
}
