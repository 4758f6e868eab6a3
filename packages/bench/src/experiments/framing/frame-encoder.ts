import type { PayloadText, WireError } from '@spock/protocol';

import { otherFrame } from './frame-format.ts';

// In place of the protocol's frame encoder. Requests and replies get their heads where their ids are known
// (`requestFrame`, `replyFrame`); every other frame is whole here. Each function has the meaning of its namesake there.

export function encodePayload(data: unknown): PayloadText {
	if (data === undefined) return 'null';
	const text = JSON.stringify(data) as string | undefined;
	if (text === undefined) throw new TypeError(`data must be a JSON value, not a ${typeof data}`);
	return text;
}

export function encodeRequestTail(func: string, payload: PayloadText, timeoutMs?: number): string {
	const timeout = timeoutMs === undefined ? '' : `,"timeoutMs":${timeoutMs}`;
	const data = payload === 'null' ? '' : `,"data":${payload}`;
	return `,"func":${JSON.stringify(func)}${timeout}${data}}`;
}

export function encodeReplyTail(payload: PayloadText): string {
	return payload;
}

export function encodeFailure(id: number | null, error: WireError): string {
	return otherFrame(`{"id":${id},"error":${JSON.stringify(error)}}`);
}

export function encodePush(event: string, payload: PayloadText): string {
	return otherFrame(`{"event":${JSON.stringify(event)},"data":${payload}}`);
}

export function encodeCancel(id: number): string {
	return otherFrame(`{"func":"cancel","data":{"id":${id}}}`);
}

/** Only the command line's own client makes these, and it is not part of the experiment. */
export function encodeRequest(): never {
	throw new Error('the experiment has no such frame');
}

export function encodeReply(): never {
	throw new Error('the experiment has no such frame');
}
