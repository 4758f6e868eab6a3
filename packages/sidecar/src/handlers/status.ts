import type { StatusReply } from '@spock/protocol';
import type { Clock } from '@spock/protocol/internal';

import { type Answer, answer, type Handler } from '../connection/answer.ts';
import { ReplyCache } from './reply-cache.ts';

/** The lists that grow with what clients do. */
const LISTS = ['watches', 'registrations', 'keyWatches'] as const;
/** By how much a reply is longer than its data, at most. */
const REPLY_HEAD_BYTES = 64;
/** Of what would fit by the average, because some entries are longer. */
const SHARE = 0.95;

/** The sidecar's status. It grows with the watches, which clients decide: where it does not fit into a frame, its lists are cut. */
export function statusHandler(status: () => StatusReply, clock: Pick<Clock, 'now'>): Handler<'status'> {
	const replies = new ReplyCache<StatusReply>(clock);
	return (_data, { caller }) => {
		const { frameBytesMax } = caller;
		const key = String(frameBytesMax);
		return replies.find(key) ?? replies.put(key, fitting(status(), frameBytesMax - REPLY_HEAD_BYTES));
	};
}

function fitting(reply: StatusReply, bytesMax: number): Answer<StatusReply> {
	let shown = reply;
	let payload = answer(shown);
	for (let bytes = Buffer.byteLength(payload); bytes > bytesMax; bytes = Buffer.byteLength(payload)) {
		// Nothing is left to leave out: a reply that is still too long fails like any other.
		if (LISTS.every((name) => shown[name].length === 0)) break;
		const share = (SHARE * bytesMax) / bytes;
		const cut = Object.fromEntries(LISTS.map((name) => [name, shown[name].slice(0, shown[name].length * share)]));
		const counts = Object.fromEntries(LISTS.map((name) => [name, reply[name].length]));
		shown = { ...shown, ...cut, counts: counts as StatusReply['counts'] & object };
		payload = answer(shown);
	}
	return payload;
}
