import { explain, inspectionOf } from '@spock/balancer';
import { normaliseQuery, type ServiceQuery, type ServiceSource, type WatcherStatus } from '@spock/protocol';

import { answer, type Handler } from '../server/answer.ts';
import { callOptions } from '../server/call-options.ts';

/** Watchers shown: so many fit into a frame whatever they call themselves. */
const WATCHERS_MAX = 256;

/** For every instance whether it gets work, and why; and who watches. */
export function explainHandler(
	source: ServiceSource,
	watchersOf: (query: ServiceQuery) => readonly WatcherStatus[],
): Handler<'explain'> {
	return async (data, call) => {
		const query = normaliseQuery(data);
		const options = callOptions(call);
		const inspection = (await source.inspect?.(query, options)) ?? inspectionOf(await source.get(query, options));
		const watchers = watchersOf(query);
		const shown = watchers.slice(0, WATCHERS_MAX);
		return answer({ ...explain(query, inspection), watchers: shown, watcherCount: watchers.length });
	};
}
