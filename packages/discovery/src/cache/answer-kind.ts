import type { Inspection, SnapshotState, WatchStatus } from '@spock/protocol';

import type { BackendObserver, BackendWatch } from '../foundation/backend.ts';
import type { DiscoveryEvent, WatchedQuery } from '../foundation/discovery-event.ts';
import type { KeptValue } from '../state/state-body.ts';

/**
 * What a cache must know of the questions it holds; how long answers live, and who is told of them, is its own business. A
 * value is what the registry answers: a list of parts, frozen.
 */
export interface AnswerKind<Q, V extends readonly unknown[], S extends SnapshotState> {
	/** What is asked for, in messages and as the member of an error's details. */
	readonly noun: 'service' | 'key';
	/** The value that says: nothing. */
	readonly nothing: V;
	nameOf(query: Q): string;
	/** The name under which a question is kept: equal questions have equal names. */
	keyOf(query: Q): string;
	/** The question with only the members that count; frozen, and an object of its own. */
	normalise(query: Q): Q;
	describe(query: Q): WatchedQuery;
	/** Starts a watch at the registry. */
	watch(query: Q, observer: BackendObserver<V>): BackendWatch;
	/** True if a reader could not tell the two apart; the one that is served stays then. */
	isSame(served: V, answered: V): boolean;
	/** True where an empty answer is always meant, and not held back. */
	trustsEmpty(query: Q): boolean;
	/** True if every part of a value has one of these names. */
	consistsOf(value: V, names: ReadonlySet<string>): boolean;
	/**
	 * Asks the registry whether there is nothing that a query with conditions asks for although the same without them has something.
	 * `explained` is called if so. Gives what ends the asking; undefined for a query without conditions.
	 */
	explainEmpty(query: Q, explained: () => void): (() => void) | undefined;
	/** What readers are given; frozen. */
	makeSnapshot(query: Q, value: V, state: SnapshotState): S;
	/** The events that tell of a snapshot which was made at this moment of the wall clock. */
	published(change: PublishedChange<Q, V, S>): readonly DiscoveryEvent[];
	/** What an earlier process kept; undefined where answers do not outlive the process. */
	load(query: Q): Promise<KeptValue<V> | undefined> | undefined;
	/** Has an answer kept, and when it was verified, in milliseconds since 1970. */
	keep(query: Q, value: V, verifiedAt: number): void;
}

/** A snapshot that takes the place of another. */
export interface PublishedChange<Q, V, S> {
	readonly query: Q;
	readonly snapshot: S;
	readonly value: V;
	/** Undefined for the first. */
	readonly before: { readonly snapshot: S; readonly value: V } | undefined;
	/** In milliseconds since 1970. */
	readonly at: number;
}

/** What is known of one question, for status; `value` is undefined before the first answer. */
export interface EntryStatus<V> extends Pick<WatchStatus, 'state' | 'revision' | 'readers' | 'ageMs' | 'error'> {
	readonly value: V | undefined;
}

/** What is known of one question beyond its snapshot. */
export interface EntryInspection<Q, V, S>
	extends Pick<Inspection, 'state' | 'error' | 'held' | 'changedAt' | 'readers'> {
	readonly query: Q;
	readonly value: V | undefined;
	readonly snapshot: S | undefined;
}
