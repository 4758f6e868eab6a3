import type { RegistrationState, ServiceQuery, ServiceSnapshot, SpockError } from '@spock/protocol';

import type { RegistrationPhase } from './registration/registration-machine.ts';
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
			/** Why, if it failed. */
			readonly error?: SpockError;
	  }
	/** A registration has changed: who wants it, or whether the registry knows it. `reason` says why it is pending. */
	| {
			readonly type: 'registration';
			readonly id: string;
			readonly service: string;
			readonly phase: RegistrationPhase;
			readonly state: RegistrationState;
			readonly reason?: string;
	  }
	/** What was registered before a restart could not be asked for; it is tried again. */
	| { readonly type: 'registrations-unknown'; readonly error: SpockError }
	/** The services file was read and is served. */
	| { readonly type: 'services-file-loaded'; readonly file: string; readonly services: number }
	/** The services file is bad or gone; what was read last is still served. Told once for each bad content. */
	| { readonly type: 'services-file-refused'; readonly file: string; readonly error: Error };

/** Receives events; must not throw. */
export type DiscoveryListener = (event: DiscoveryEvent) => void;
