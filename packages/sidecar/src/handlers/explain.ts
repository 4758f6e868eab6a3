import { explain, inspectionOf } from '@spock/balancer';
import {
	type ExplainReply,
	type Inspection,
	normaliseQuery,
	type ServiceQuery,
	type ServiceSource,
	type WatcherStatus,
} from '@spock/protocol';

import { type Answer, answer, type Handler } from '../server/answer.ts';
import { callOptions } from '../server/call-options.ts';
import { snapshotFrameBytes } from '../server/snapshot-text.ts';

/** Watchers shown: so many fit into a frame whatever they call themselves. */
const WATCHERS_MAX = 256;
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
		return shorten(explained(query, inspection, watchersOf(query)), call.caller.frameBytesMax - REPLY_HEAD_BYTES);
	};
}

/** For every instance whether it gets work, and why; and of those who watch, as many as a frame holds. */
export function explained(
	query: ServiceQuery,
	inspection: Inspection,
	watchers: readonly WatcherStatus[],
): ExplainReply {
	const { snapshot } = inspection;
	return {
		...explain(query, inspection),
		frameBytes: snapshot === undefined ? 0 : snapshotFrameBytes('service', snapshot),
		watchers: watchers.slice(0, WATCHERS_MAX),
		watcherCount: watchers.length,
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
