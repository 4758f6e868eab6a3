import type { KeyQuery, ServiceQuery, SnapshotObserver, SourceWatch, WatchedSource } from '@spock/protocol';
import { callOut, offAbort, onAbort } from '@spock/protocol/internal';
import { skipChannel } from './diagnostics.ts';
import { NewestOnly } from './newest-only.ts';

/** What ends when its client, or its configuration, does. */
export interface Endable {
	end(): void;
}

/** Things that are open and end together. */
export class Scope<M extends Endable = Endable> {
	readonly #members = new Set<M>();
	#isOpen = true;

	/** False once it has ended: nothing may be opened in it any more. */
	get isOpen(): boolean {
		return this.#isOpen;
	}

	add(member: M): void {
		this.#members.add(member);
	}

	/** Called by a member that ends by itself. */
	delete(member: M): void {
		this.#members.delete(member);
	}

	/** True until the member has ended. */
	has(member: M): boolean {
		return this.#members.has(member);
	}

	/** A copy: members may end during a loop over it. */
	members(): readonly M[] {
		return [...this.#members];
	}

	/** Ends every member; idempotent. */
	end(): void {
		this.#isOpen = false;
		for (const member of this.members()) member.end();
	}
}

/** What an iterator needs of its scope. */
type ScopeOf<M extends Endable> = Pick<Scope<M>, 'isOpen' | 'add' | 'delete' | 'has'>;

/**
 * An iterator that `start` feeds from the first `next` on, until the function that `start` returns is called. It is a member of the
 * scope while it runs, ends with the scope or by the signal, and leaves nothing behind however it ends.
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
			// A value before `start` returned may have ended it already.
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

/** A watch as an async iterator. Retryable errors are waited out; the others end it. */
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

/** An observer of the app, whose faults become uncaught exceptions: they must not reach the reader of the socket. */
export function guardObserver<S>(observer: SnapshotObserver<S>): SnapshotObserver<S> {
	return {
		next: (snapshot) => callOut(() => observer.next(snapshot)),
		error: (error) => callOut(() => observer.error?.(error)),
	};
}
