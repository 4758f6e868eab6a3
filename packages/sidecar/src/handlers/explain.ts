import { explain, inspectionOf } from '@spock/balancer';
import {
	type ExplainReply,
	type Hop,
	type Inspection,
	normaliseQuery,
	queryKey,
	type ServiceQuery,
	type ServiceSource,
	type WatcherStatus,
} from '@spock/protocol';
import type { Clock } from '@spock/protocol/internal';

import { type Answer, answer, type Handler } from '../connection/answer.ts';
import { snapshotFrameBytes } from '../connection/snapshot-text.ts';
import { callOptions } from '../foundation/sidecar-source.ts';
import { ReplyCache } from './reply-cache.ts';

/** Most bytes by which a reply is longer than its payload. */
const REPLY_HEAD_BYTES = 64;

/** The cost of checking whether a connection watches, in characters of an answer. */
const CONNECTION_COST = 8;

/** The watchers among all connections. */
export interface Watchers {
	/** Connections that must be checked. */
	count(): number;
	watchers(query: ServiceQuery): readonly WatcherStatus[];
}

/** Explains for every instance whether and why it gets work, and lists the watchers. */
export function explainHandler(
	source: ServiceSource,
	connections: Watchers,
	clock: Pick<Clock, 'now'>,
	path: () => readonly Hop[] = () => [],
	outage: () => string | null = () => null,
): Handler<'explain'> {
	const replies = new ReplyCache<ExplainReply>(clock);
	return async (data, call) => {
		const query = normaliseQuery(data);
		const { frameBytesMax } = call.caller;
		const key = `${frameBytesMax} ${queryKey(query)}`;
		const before = replies.find(key);
		if (before !== undefined) return before;
		const options = callOptions(call, call.caller.share);
		const inspection = (await source.inspect?.(query, options)) ?? inspectionOf(await source.get(query, options));
		// Of many concurrent callers, the first makes the answer.
		const meanwhile = replies.find(key);
		if (meanwhile !== undefined) return meanwhile;
		const upstreams = path();
		const own = explained(query, inspection, connections.watchers(query));
		// An answer that only gets old, as without a leader, has no error of its own.
		const isOld = own.source === 'last-known-good' && own.held === null;
		const reply = {
			...own,
			...(isOld && own.error === null && { error: outage() }),
			...(upstreams.length > 0 && { upstreams }),
		};
		const whole = answer<ExplainReply>(reply);
		const text = shorten(reply, whole, frameBytesMax - REPLY_HEAD_BYTES);
		return replies.put(key, text, whole.length + connections.count() * CONNECTION_COST);
	};
}

/** The answer with as many instances as fit: a service that is too long for its watchers must still be explainable. */
function shorten(reply: ExplainReply, whole: Answer<ExplainReply>, bytesMax: number): Answer<ExplainReply> {
	let shown = reply;
	let payload = whole;
	for (let bytes = Buffer.byteLength(payload); bytes > bytesMax; bytes = Buffer.byteLength(payload)) {
		const { instances, refused = [] } = shown;
		// Nothing is left to leave out: a reply that is still too long fails like any other.
		if (instances.length + refused.length === 0) break;
		if (instances.length === 0) {
			shown = { ...shown, refused: refused.slice(0, refused.length / 2) };
			payload = answer(shown);
			continue;
		}
		const kept = Math.floor(Math.min(instances.length - 1, (instances.length * bytesMax) / bytes));
		shown = { ...shown, instances: instances.slice(0, kept) };
		payload = answer(shown);
	}
	return payload;
}

/** Most watchers shown: these fit into a frame whatever their names are. */
const WATCHERS_MAX = 256;

/** Explains for every instance whether and why it gets work, with as many watchers as fit into a frame. */
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
