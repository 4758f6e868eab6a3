import type { SourceWatch, WatchedSource } from '@spock/protocol';

import { NewestOnly } from './newest-only.ts';

/** What ends when its client does. */
export interface Endable {
	end(): void;
}

/**
 * A watch as an async iterator. It starts with the first `next`, stands in `open` while it runs, and leaves neither watch
 * nor listener behind however it ends. Errors that waiting can mend are waited out; the others end it.
 */
export function watchIterator<Q, S>(
	source: WatchedSource<Q, S>,
	query: Q,
	signal: AbortSignal | undefined,
	open: Set<Endable>,
	mayStart: () => boolean,
): NewestOnly<S> {
	let watch: SourceWatch | undefined;
	const onAbort = (): void => iterator.end();
	const iterator = new NewestOnly<S>(
		() => {
			if (signal?.aborted || !mayStart()) return iterator.end();
			open.add(iterator);
			signal?.addEventListener('abort', onAbort, { once: true });
			watch = source.watch(query, {
				next: (snapshot) => iterator.put(snapshot),
				error: (error) => {
					if (!error.retryable) iterator.end(error);
				},
			});
			// An error told before `watch` returned has ended the iteration already.
			if (!open.has(iterator)) watch.stop();
		},
		() => {
			open.delete(iterator);
			signal?.removeEventListener('abort', onAbort);
			watch?.stop();
		},
	);
	return iterator;
}
