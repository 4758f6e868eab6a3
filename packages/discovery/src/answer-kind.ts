import type { SnapshotSource, WatchStatus } from '@spock/protocol';

import type { BackendObserver, BackendWatch } from './backend.ts';
import type { DiscoveryEvent, WatchedQuery } from './discovery-event.ts';

/** What every snapshot says of itself, whatever it is a snapshot of. */
export interface PublishedState {
	readonly revision: number;
	readonly source: SnapshotSource;
	readonly ageMs: number;
}

/** What a cache must know of the questions it holds; how long answers live and who is told of them is its own business. */
export interface AnswerKind<Q, V, S> {
	/** What is asked for, in messages and as the member of an error's details. */
	readonly noun: 'service' | 'key';
	nameOf(query: Q): string;
	/** The name under which a question is kept: equal questions have equal names. */
	keyOf(query: Q): string;
	/** The question with only the members that count; frozen. */
	normalise(query: Q): Q;
	/** Starts a watch at the registry. */
	watch(query: Q, observer: BackendObserver<V>): BackendWatch;
	/** True if a reader could not tell the two apart. */
	isSame(before: V, after: V): boolean;
	/** What readers are given; frozen. */
	makeSnapshot(query: Q, value: V, state: PublishedState): S;
	describe(query: Q): WatchedQuery;
	/** The event that tells of a snapshot which has just been made. */
	published(snapshot: S, before: V | undefined, after: V): DiscoveryEvent;
}

/** What is known of one question; `value` is undefined before the first answer. */
export interface EntryStatus<V> extends Pick<WatchStatus, 'state' | 'revision' | 'readers' | 'ageMs' | 'error'> {
	readonly value: V | undefined;
}
