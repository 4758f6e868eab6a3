import type { DiscoveryEvent } from '@spock/discovery';
import type { Registry } from 'prom-client';

import { PlainCounts } from './plain-figures.ts';

const NAMES = [
	'spock_backend_queries_total',
	'spock_snapshots_published_total',
	'spock_key_snapshots_published_total',
	'spock_watch_failures_total',
	'spock_holds_total',
	'spock_instances_refused_total',
	'spock_panics_total',
	'spock_state_files_total',
	'spock_credentials_total',
	'spock_logins_total',
	'spock_services_files_total',
] as const;

/** What happens in discovery, counted. */
export class DiscoveryCounts {
	readonly #byName = new Map<string, PlainCounts>();

	/** Registers the counters. */
	constructor(registry: Registry) {
		for (const name of NAMES) this.#byName.set(name, new PlainCounts(registry, name));
	}

	add(event: DiscoveryEvent): void {
		switch (event.type) {
			case 'backend-query':
				this.#count(
					'spock_backend_queries_total',
					event.outcome === 'ok' ? 'ok' : (event.error?.code ?? 'UNAVAILABLE'),
				);
				return;
			case 'published':
				this.#count('spock_snapshots_published_total', event.snapshot.source);
				return;
			case 'key-published':
				this.#count('spock_key_snapshots_published_total', event.source);
				return;
			case 'watch-failed':
				this.#count('spock_watch_failures_total');
				return;
			case 'held':
				this.#count('spock_holds_total', 'begun');
				return;
			case 'hold-ended':
				this.#count('spock_holds_total', event.outcome);
				return;
			case 'instances-refused':
				this.#count('spock_instances_refused_total', undefined, event.added);
				return;
			case 'panic':
				if (event.active) this.#count('spock_panics_total');
				return;
			case 'credentials-loaded':
				this.#count('spock_credentials_total', 'loaded');
				return;
			case 'credentials-refused':
				this.#count('spock_credentials_total', 'refused');
				return;
			case 'logged-in':
				this.#count('spock_logins_total', 'ok');
				return;
			case 'login-failed':
				this.#count('spock_logins_total', 'failed');
				return;
			default:
				this.#addFile(event);
		}
	}

	#addFile(event: DiscoveryEvent): void {
		switch (event.type) {
			case 'state-restored':
				this.#count('spock_state_files_total', 'restored');
				return;
			case 'state-refused':
				this.#count('spock_state_files_total', 'refused');
				return;
			case 'state-write':
				this.#count('spock_state_files_total', event.outcome === 'ok' ? 'written' : 'write-failed');
				return;
			case 'services-file-loaded':
				this.#count('spock_services_files_total', 'loaded');
				return;
			case 'services-file-refused':
				this.#count('spock_services_files_total', 'refused');
				return;
			default:
				return;
		}
	}

	#count(name: (typeof NAMES)[number], value?: string, by = 1): void {
		this.#byName.get(name)?.add(value, by);
	}
}
