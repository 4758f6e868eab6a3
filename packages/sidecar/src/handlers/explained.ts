import { explain } from '@spock/balancer';
import type { ExplainReply, Inspection, ServiceQuery, WatcherStatus } from '@spock/protocol';

import { snapshotFrameBytes } from '../connection/snapshot-text.ts';

/** Watchers shown: so many fit into a frame whatever they call themselves. */
const WATCHERS_MAX = 256;

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
