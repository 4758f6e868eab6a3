import { inspectionOf } from '@spock/balancer';
import {
	type ExplainReply,
	normaliseQuery,
	type ServiceQuery,
	type ServiceSource,
	type WatcherStatus,
} from '@spock/protocol';

import { type Answer, answer, type Handler } from '../server/answer.ts';
import { callOptions } from '../server/call-options.ts';
import { explained } from './explained.ts';

/** What a reply is longer than its payload, at most. */
const REPLY_HEAD_BYTES = 64;

/** For every instance whether it gets work, and why; and who watches. */
export function explainHandler(
	source: ServiceSource,
	watchersOf: (query: ServiceQuery) => readonly WatcherStatus[],
): Handler<'explain'> {
	return async (data, call) => {
		const query = normaliseQuery(data);
		const options = callOptions(call);
		const inspection = (await source.inspect?.(query, options)) ?? inspectionOf(await source.get(query, options));
		const reply = explained(query, inspection, watchersOf(query));
		return shorten(reply, call.caller.frameBytesMax - REPLY_HEAD_BYTES);
	};
}

/** The answer with as many instances as fit: a service that is too long for its watchers is the one that must be explained. */
function shorten(reply: ExplainReply, bytesMax: number): Answer<ExplainReply> {
	let shown = reply;
	let payload = answer(shown);
	for (let bytes = Buffer.byteLength(payload); bytes > bytesMax; bytes = Buffer.byteLength(payload)) {
		const { instances } = shown;
		// Nothing left to leave out: what is still too long fails as any other reply.
		if (instances.length === 0) break;
		const kept = Math.floor(Math.min(instances.length - 1, (instances.length * bytesMax) / bytes));
		shown = { ...shown, instances: instances.slice(0, kept) };
		payload = answer(shown);
	}
	return payload;
}
