import type { Inspection, SnapshotState, WatchStatus } from '@spock/protocol';

import type { BackendObserver, BackendWatch } from '../foundation/backend.ts';
import type { DiscoveryEvent, WatchedQuery } from '../foundation/discovery-event.ts';
import type { KeptValue } from '../state/state-body.ts';

/**
 * What a cache needs to know of its kind of query, of services or of keys. A value is the registry's answer: a frozen list of
 * parts.
 */
export interface AnswerKind<Q, V extends readonly unknown[], S extends SnapshotState> {
	/** The noun in messages, and the member of an error's details. */
	readonly noun: 'service' | 'key';
	/** The empty value. */
	readonly nothing: V;
	nameOf(query: Q): string;
	/** The key under which a query is cached: equal queries have equal keys. */
	keyOf(query: Q): string;
	/** The query with only its significant members, in a new frozen object. */
	normalise(query: Q): Q;
	describe(query: Q): WatchedQuery;
	/** Starts a watch at the registry. */
	watch(query: Q, observer: BackendObserver<V>): BackendWatch;
	/** About how many bytes of memory a value takes, with the lines that are made of it. */
	bytesOf(value: V): number;
	/** True if readers cannot distinguish the two; the served value then stays. */
	isSame(served: V, answered: V): boolean;
	/** True if an empty answer is always believed, and not held back. */
	trustsEmpty(query: Q): boolean;
	/** True if every part of a value has one of these names. */
	consistsOf(value: V, names: ReadonlySet<string>): boolean;
	/**
	 * Asks the registry whether the query without its conditions has instances, although none meets them. Calls `explained` if so.
	 * Returns a function that ends this; undefined for a query without conditions.
	 */
	explainEmpty(query: Q, explained: () => void): (() => void) | undefined;
	/** The snapshot for readers; frozen. */
	makeSnapshot(query: Q, value: V, state: SnapshotState): S;
	/** The events for a snapshot that was published at this time of the wall clock. */
	published(change: PublishedChange<Q, V, S>): readonly DiscoveryEvent[];
	/** Loads the answer of an earlier process; undefined if answers are not stored. */
	load(query: Q): Promise<KeptValue<V> | undefined> | undefined;
	/** Stores an answer and when it was verified, in milliseconds since 1970. */
	keep(query: Q, value: V, verifiedAt: number): void;
}

/** A snapshot that replaces another. */
export interface PublishedChange<Q, V, S> {
	readonly query: Q;
	readonly snapshot: S;
	readonly value: V;
	/** Undefined for the first. */
	readonly before: { readonly snapshot: S; readonly value: V } | undefined;
	/** In milliseconds since 1970. */
	readonly at: number;
}

/** The state of one query, for status; `value` is undefined before the first answer. */
export interface EntryStatus<V> extends Pick<WatchStatus, 'state' | 'revision' | 'readers' | 'ageMs' | 'error'> {
	readonly value: V | undefined;
}

/** Everything known of one query beyond its snapshot. */
export interface EntryInspection<Q, V, S>
	extends Pick<Inspection, 'state' | 'error' | 'held' | 'changedAt' | 'readers'> {
	readonly query: Q;
	readonly value: V | undefined;
	readonly snapshot: S | undefined;
}
