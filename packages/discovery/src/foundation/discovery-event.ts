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

/** The query of a watch. */
export type WatchedQuery = ServiceQuery | KeyQuery;

/** The life of a registration: see its machine. */
export type RegistrationPhase = 'new' | 'held' | 'grace' | 'adopted' | 'leaving' | 'gone';

/** Why a file of the state directory is not used. `scope`: of another registry, datacenter or namespace. */
export type StateRefusal = 'torn' | 'foreign' | 'version' | 'scope';

/** The events of discovery, for logs and metrics. Library code itself writes neither. */
export type DiscoveryEvent =
	/** A snapshot was published to the readers: its instances or its source changed. `before`: the one that it replaces. */
	| {
			readonly type: 'published';
			readonly snapshot: ServiceSnapshot;
			readonly diff: SnapshotDiff;
			readonly before?: ServiceSnapshot;
	  }
	/** A snapshot of keys was published to the readers. Without values, which may be secrets. */
	| {
			readonly type: 'key-published';
			readonly key: string;
			readonly prefix: boolean;
			readonly revision: number;
			readonly source: SnapshotSource;
			readonly entries: number;
	  }
	/** A healthy or new watch has failed. Reported once for each outage of a query. */
	| {
			readonly type: 'watch-failed';
			readonly query: WatchedQuery;
			readonly error: SpockError;
			/** True if a last known answer is served meanwhile. */
			readonly isServed: boolean;
	  }
	/** The first good answer after `watch-failed`. */
	| { readonly type: 'watch-recovered'; readonly query: WatchedQuery; readonly outageMs: number }
	/**
	 * One query to one address of the registry ended. `lastContactMs` and `knownLeader` are Consul's facts about the server that
	 * answered: https://developer.hashicorp.com/consul/api-docs/features/consistency
	 */
	| {
			readonly type: 'backend-query';
			readonly outcome: 'ok' | 'failed';
			readonly durationMs: number;
			readonly lastContactMs?: number;
			readonly knownLeader?: boolean;
			/** Least age of a good answer when it arrived, in milliseconds. */
			readonly ageMs?: number;
			/** Whether an agent answered from its cache. */
			readonly cache?: 'hit' | 'miss';
			/** Why, if it failed. */
			readonly error?: SpockError;
	  }
	/** An address of the registry failed, or answers without a leader: once for each outage, whether another address answers or not. */
	| { readonly type: 'address-failed'; readonly address: string; readonly reason: string }
	/** It answers again. */
	| { readonly type: 'address-recovered'; readonly address: string; readonly outageMs: number }
	/** A registration has changed: its phase, or whether the registry knows it. `error` is why the last write failed. */
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
	/** An instance has another name in snapshots: another place of the registry has taken it over, or the node was renamed. */
	| {
			readonly type: 'registration-moved';
			readonly id: string;
			readonly service: string;
			/** Its name in snapshots before. */
			readonly from: string;
			readonly to: string | null;
	  }
	/** The registrations from before a restart could not be read; this is retried. Reported for every attempt, `isNews` for the first. */
	| { readonly type: 'registrations-unknown'; readonly error: SpockError; readonly isNews: boolean }
	/** The token may not list services, but may read some: the registry counts as having answered. */
	| { readonly type: 'list-denied'; readonly error: SpockError }
	/**
	 * How the registry is watched from now on: `each`, one blocking query for every watch; `polled`, some are polled, because there is
	 * no room for more queries. `watches`: all watches; `polled`: those that are polled.
	 */
	| {
			readonly type: 'watch-mode';
			readonly mode: 'each' | 'polled';
			readonly watches: number;
			readonly polled: number;
	  }
	/** A token or the TLS files have been read and are in force: at first, changed, or valid again. `what` says which. */
	| { readonly type: 'credentials-loaded'; readonly what: string; readonly files: readonly string[] }
	/** They are missing or invalid; the last valid ones stay in force. Reported once for each fault. */
	| {
			readonly type: 'credentials-refused';
			readonly what: string;
			readonly files: readonly string[];
			readonly error: Error;
	  }
	/** A login at the registry has returned a token. `ttlMs`: how long it is valid; null without an end. */
	| { readonly type: 'logged-in'; readonly method: string; readonly ttlMs: number | null }
	/** A login has failed; the previous token stays in force while it is valid. */
	| { readonly type: 'login-failed'; readonly method: string; readonly error: SpockError }
	/**
	 * The registry reports that no instance of a service, or no key of a prefix, is left: this is held back. `count` is how many there
	 * were. Reported once for each hold.
	 */
	| { readonly type: 'held'; readonly query: WatchedQuery; readonly count: number; readonly holdMs: number }
	/** A hold has ended: they are back, they are gone, the registry failed, or no client asks any more. */
	| {
			readonly type: 'hold-ended';
			readonly query: WatchedQuery;
			readonly outcome: 'returned' | 'emptied' | 'failed' | 'dropped';
			readonly heldMs: number;
	  }
	/**
	 * The registry's answer has invalid entries, which are left out: `count` of them, of which the first are listed. Reported when they
	 * change; 0 when the last one is gone or valid. `added`: how many were not left out before.
	 */
	| {
			readonly type: 'instances-refused';
			readonly query: ServiceQuery;
			readonly count: number;
			readonly added: number;
			readonly instances: readonly RefusedInstance[];
	  }
	/** Too few instances are healthy: all are served from now on, or no longer. Reported at each change. */
	| {
			readonly type: 'panic';
			readonly query: ServiceQuery;
			readonly active: boolean;
			readonly healthy: number;
			readonly instances: number;
	  }
	/** The stored answer of an earlier process is served, because the registry does not answer. */
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
	/** The services file is invalid or missing; its last valid content is still served. Reported once for each invalid content. */
	| { readonly type: 'services-file-refused'; readonly file: string; readonly error: Error };

/** Receives events; must not throw. */
export type DiscoveryListener = (event: DiscoveryEvent) => void;
