import type {
	KeyQuery,
	RefusedInstance,
	RegistrationState,
	ServiceQuery,
	ServiceSnapshot,
	SnapshotSource,
	SpockError,
} from '@spock/protocol';

import type { SnapshotDiff } from './snapshot-diff.ts';

/** What a watch asks for. */
export type WatchedQuery = ServiceQuery | KeyQuery;

/** The life of a registration: see its machine. */
export type RegistrationPhase = 'new' | 'held' | 'grace' | 'adopted' | 'leaving' | 'gone';

/** Why a file of the state directory is not used. `scope`: of another registry, datacenter or namespace. */
export type StateRefusal = 'torn' | 'foreign' | 'version' | 'scope';

/** What happens inside discovery, for logs and metrics. Library code itself writes neither. */
export type DiscoveryEvent =
	/** A snapshot went out to the readers: its instances or its source changed. `before`: the one in whose place it is. */
	| {
			readonly type: 'published';
			readonly snapshot: ServiceSnapshot;
			readonly diff: SnapshotDiff;
			readonly before?: ServiceSnapshot;
	  }
	/** An answer about keys went out to the readers. Without the values: they may be secrets. */
	| {
			readonly type: 'key-published';
			readonly key: string;
			readonly prefix: boolean;
			readonly revision: number;
			readonly source: SnapshotSource;
			readonly entries: number;
	  }
	/** A watch that was well, or new, has failed. Told once for each outage of a query. */
	| {
			readonly type: 'watch-failed';
			readonly query: WatchedQuery;
			readonly error: SpockError;
			/** There is a last known answer, which is served meanwhile. */
			readonly isServed: boolean;
	  }
	/** The first good answer after `watch-failed`. */
	| { readonly type: 'watch-recovered'; readonly query: WatchedQuery; readonly outageMs: number }
	/**
	 * One query to one address of the registry ended. `lastContactMs` and `knownLeader` are what Consul said of the server
	 * that answered: https://developer.hashicorp.com/consul/api-docs/features/consistency
	 */
	| {
			readonly type: 'backend-query';
			readonly outcome: 'ok' | 'failed';
			readonly durationMs: number;
			readonly lastContactMs?: number;
			readonly knownLeader?: boolean;
			/** How old a good answer was already when it came, at least, in milliseconds. */
			readonly ageMs?: number;
			/** Whether an agent answered from its cache. */
			readonly cache?: 'hit' | 'miss';
			/** Why, if it failed. */
			readonly error?: SpockError;
	  }
	/** A registration has changed: who wants it, or whether the registry knows it. `error` is why the last write failed. */
	| {
			readonly type: 'registration';
			readonly id: string;
			readonly service: string;
			/** Its name in snapshots; null until the registry has returned it. */
			readonly instance: string | null;
			readonly phase: RegistrationPhase;
			readonly state: RegistrationState;
			readonly error?: SpockError;
	  }
	/** What was registered before a restart could not be asked for; it is tried again. Told of every try, `isNews` of the first. */
	| { readonly type: 'registrations-unknown'; readonly error: SpockError; readonly isNews: boolean }
	/** Who asks may list no service, but may read something: the registry counts as heard. */
	| { readonly type: 'list-denied'; readonly error: SpockError }
	/**
	 * How the registry is watched from now on: `each`, one query for every question; `shared`, one for those for which there is no
	 * room. `watches`: how many there are; `sharing`: how many of them share.
	 */
	| {
			readonly type: 'watch-mode';
			readonly mode: 'each' | 'shared';
			readonly watches: number;
			readonly sharing: number;
	  }
	/** A token or the files of TLS have been read and are in force: at first, changed, or good again. `what` says which. */
	| { readonly type: 'credentials-loaded'; readonly what: string; readonly files: readonly string[] }
	/** They are missing or bad; what was good last stays in force. Told once for each way of being bad. */
	| {
			readonly type: 'credentials-refused';
			readonly what: string;
			readonly files: readonly string[];
			readonly error: Error;
	  }
	/** A login at the registry has given a token. `ttlMs`: how long it is good; null without an end. */
	| { readonly type: 'logged-in'; readonly method: string; readonly ttlMs: number | null }
	/** A login has failed; the token from before, if it is still good, stays in force. */
	| { readonly type: 'login-failed'; readonly method: string; readonly error: SpockError }
	/**
	 * The registry says that nothing is left of a service's instances or of a prefix's keys: that is held back. `count` is
	 * how many there were. Told once for each hold.
	 */
	| { readonly type: 'held'; readonly query: WatchedQuery; readonly count: number; readonly holdMs: number }
	/** A hold has ended: they are back, they are gone for good, the registry failed, or no client asks any more. */
	| {
			readonly type: 'hold-ended';
			readonly query: WatchedQuery;
			readonly outcome: 'returned' | 'emptied' | 'failed' | 'dropped';
			readonly heldMs: number;
	  }
	/**
	 * The registry's answer has bad entries, which are left out: `count` of them, of which the first are reported. Sent when they are
	 * others than before; 0 when the last one is gone or good. `added`: how many were not left out before.
	 */
	| {
			readonly type: 'instances-refused';
			readonly query: ServiceQuery;
			readonly count: number;
			readonly added: number;
			readonly instances: readonly RefusedInstance[];
	  }
	/** Too few instances are healthy: all are served from now on, or no longer. Told at each change. */
	| {
			readonly type: 'panic';
			readonly query: ServiceQuery;
			readonly active: boolean;
			readonly healthy: number;
			readonly instances: number;
	  }
	/** What an earlier process kept is served, because the registry does not answer. */
	| { readonly type: 'state-restored'; readonly what: string; readonly ageMs: number }
	/** A file of the state directory cannot be used: torn, foreign, of another version or place, or unreadable. */
	| {
			readonly type: 'state-refused';
			readonly file: string;
			readonly refusal: StateRefusal | 'unreadable';
			readonly reason: string;
	  }
	/** A file of the state directory was written, or could not be; `isNews` for the first failure after a success. */
	| { readonly type: 'state-write'; readonly outcome: 'ok' }
	| { readonly type: 'state-write'; readonly outcome: 'failed'; readonly error: Error; readonly isNews: boolean }
	/** The services file was read and is served. */
	| { readonly type: 'services-file-loaded'; readonly file: string; readonly services: number }
	/** The services file is bad or gone; what was read last is still served. Told once for each bad content. */
	| { readonly type: 'services-file-refused'; readonly file: string; readonly error: Error };

/** Receives events; must not throw. */
export type DiscoveryListener = (event: DiscoveryEvent) => void;
