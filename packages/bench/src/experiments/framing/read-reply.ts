import { isDeeperThan, JSON_DEPTH_MAX } from '@spock/protocol';

// In place of the client's fast path over replies: what the decoder tells is the payload.

const SHALLOW_LENGTH_MAX: number = 2 * (JSON_DEPTH_MAX - 1);

export const UNREADABLE: unique symbol = Symbol('unreadable');

export function readReply(payload: string): unknown {
	if (payload.length > SHALLOW_LENGTH_MAX && isDeeperThan(payload, JSON_DEPTH_MAX - 1)) return UNREADABLE;
	try {
		return JSON.parse(payload);
	} catch {
		return UNREADABLE;
	}
}
