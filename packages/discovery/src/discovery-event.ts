import type { ServiceQuery, ServiceSnapshot, SpockError } from '@spock/protocol';

import type { SnapshotDiff } from './snapshot-diff.ts';

/** What happens inside discovery, for whoever logs and counts. Library code itself does neither. */
export type DiscoveryEvent =
	/** A snapshot went out to the readers: its instances or its source changed. */
	| { readonly type: 'published'; readonly snapshot: ServiceSnapshot; readonly diff: SnapshotDiff }
	/** A watch that was well, or new, has failed. Told once for each outage of a query. */
	| { readonly type: 'watch-failed'; readonly query: ServiceQuery; readonly error: SpockError }
	/** The first good answer after `watch-failed`. */
	| { readonly type: 'watch-recovered'; readonly query: ServiceQuery; readonly outageMs: number }
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
	/**
	 * How the registry is watched from now on: `each`, one query for every question; `shared`, one for all of them, because there
	 * are many. `watches`: how many there are.
	 */
	| { readonly type: 'watch-mode'; readonly mode: 'each' | 'shared'; readonly watches: number }
	/** The services file was read and is served. */
	| { readonly type: 'services-file-loaded'; readonly file: string; readonly services: number }
	/** The services file is bad or gone; what was read last is still served. Told once for each bad content. */
	| { readonly type: 'services-file-refused'; readonly file: string; readonly error: Error };

/** Receives events; must not throw. */
export type DiscoveryListener = (event: DiscoveryEvent) => void;
