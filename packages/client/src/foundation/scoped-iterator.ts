import type { KeyQuery, ServiceQuery, SnapshotObserver, SourceWatch, WatchedSource } from '@spock/protocol';
import { callOut, offAbort, onAbort } from '@spock/protocol/internal';

import { skipChannel } from './diagnostics.ts';
import { NewestOnly } from './newest-only.ts';
import type { Endable, Scope } from './scope.ts';

/** What an iterator needs of the scope that it is of. */
type ScopeOf<M extends Endable> = Pick<Scope<M>, 'isOpen' | 'add' | 'delete' | 'has'>;

/**
 * An iterator that `start` feeds from the first `next` on, until what `start` gives is called. It is of the scope while it
 * runs, ends with the scope or by the signal, and leaves nothing behind however it ends.
 */
export function scopedIterator<T>(
	scope: ScopeOf<NewestOnly<T>>,
	signal: AbortSignal | undefined,
	start: (iterator: NewestOnly<T>) => () => void,
): NewestOnly<T> {
	let stop: (() => void) | undefined;
	const abort = (): void => iterator.end();
	const iterator = new NewestOnly<T>(
		() => {
			if (signal?.aborted || !scope.isOpen) return iterator.end();
			scope.add(iterator);
			if (signal !== undefined) onAbort(signal, abort);
			stop = start(iterator);
			// What it was told before `start` returned may have ended it already.
			if (!scope.has(iterator)) stop();
		},
		() => {
			scope.delete(iterator);
			offAbort(signal, abort);
			stop?.();
		},
	);
	return iterator;
}

/** A watch as an async iterator. Errors that waiting can mend are waited out; the others end it. */
export function watchIterator<Q extends ServiceQuery | KeyQuery, S>(
	scope: Scope,
	signal: AbortSignal | undefined,
	source: WatchedSource<Q, S>,
	query: Q,
): NewestOnly<S> {
	return scopedIterator(scope, signal, (iterator) => {
		const watch: SourceWatch = source.watch(query, {
			next: (snapshot) => {
				if (iterator.put(snapshot) && skipChannel.hasSubscribers) skipChannel.publish({ query });
			},
			error: (error) => {
				if (!error.retryable) iterator.end(error);
			},
		});
		return () => watch.stop();
	});
}

/** An observer of the app, whose faults become uncaught exceptions: they must not reach whoever reads the socket. */
export function guardObserver<S>(observer: SnapshotObserver<S>): SnapshotObserver<S> {
	return {
		next: (snapshot) => callOut(() => observer.next(snapshot)),
		error: (error) => callOut(() => observer.error?.(error)),
	};
}
