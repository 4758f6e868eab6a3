import type { DiplomatStatus } from './foundation/status.ts';
import type { RemoteSource } from './sources/remote-source.ts';

/** What is known of a sidecar before the first has answered, and in direct mode. */
const NO_SIDECAR = { sidecar: null, instance: null, baseline: false };

type Ejections = Pick<DiplomatStatus, 'ejected' | 'ejectedPercentMax'>;

/** The status of a client of a sidecar. */
export function sidecarStatus(
	{ name, connection, services, keys, fallback }: RemoteSource,
	address: string,
	ejections: Ejections,
): DiplomatStatus {
	const { state, greeting, lastError } = connection;
	const { sidecar, instance, baseline } = greeting ?? NO_SIDECAR;
	return {
		source: name,
		state,
		address,
		sidecar,
		instance,
		baseline,
		subscriptions: services.store.count + keys.store.count,
		...connection.counts(),
		lastError: lastError?.message ?? null,
		fallback: fallback?.status() ?? null,
		...ejections,
	};
}

/** The status of a client over a source of its own. */
export function directStatus(
	source: string,
	isOpen: boolean,
	subscriptions: number,
	ejections: Ejections,
): DiplomatStatus {
	return {
		source,
		state: isOpen ? 'ready' : 'closed',
		address: null,
		...NO_SIDECAR,
		subscriptions,
		inFlight: 0,
		waiting: 0,
		window: null,
		lateReplies: 0,
		protocolFaults: 0,
		reconnects: 0,
		lastError: null,
		fallback: null,
		...ejections,
	};
}
