import { BackendSource, type BackendSourceOptions } from './backend-source.ts';
import { consulBackend } from './backends/consul/consul-backend.ts';
import type { ConsulBackendOptions } from './backends/consul/consul-backend-options.ts';
import { dnsBackend } from './backends/dns/dns-backend.ts';
import type { DnsBackendOptions } from './backends/dns/dns-options.ts';
import { createLocalBackend, type LocalBackendOptions } from './backends/local/local-backend.ts';
import type { Backend } from './foundation/backend.ts';

// What a client is given to ask a registry itself, in place of a sidecar or beside it:
//   createDiplomat({ source: consulSource({ addresses: ['http://127.0.0.1:8500'] }) })

type CacheOptions = Omit<BackendSourceOptions, 'backend'>;

/** Options of {@link consulSource}: those of the backend and those of the cache over it. */
export interface ConsulSourceOptions extends ConsulBackendOptions, CacheOptions {}

/** Options of {@link localSource}. */
export interface LocalSourceOptions extends LocalBackendOptions, CacheOptions {}

/** Options of {@link dnsSource}. */
export interface DnsSourceOptions extends DnsBackendOptions, CacheOptions {}

/**
 * Services straight from Consul. Nothing is asked before the first lookup. Throws a TypeError or RangeError naming the
 * option that is wrong. The receiver of the source closes it; a client does.
 */
export function consulSource(options: ConsulSourceOptions = {}): BackendSource {
	return sourceOver(consulBackend(options), options);
}

/** Services straight from DNS. Throws a TypeError or RangeError naming the option that is wrong. */
export function dnsSource(options: DnsSourceOptions = {}): BackendSource {
	return sourceOver(dnsBackend(options), options);
}

/**
 * Services from a file or from the program itself. Rejects with a ServicesFileError if the file is bad, an Error if it
 * cannot be read, a TypeError or RangeError naming the option that is wrong.
 */
export async function localSource(options: LocalSourceOptions = {}): Promise<BackendSource> {
	const backend = await createLocalBackend(options);
	try {
		return sourceOver(backend, options);
	} catch (error) {
		await backend.close();
		throw error;
	}
}

function sourceOver(backend: Backend, options: CacheOptions): BackendSource {
	return new BackendSource({ ...options, backend });
}
