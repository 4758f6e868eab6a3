import type { SpockError } from '@spock/protocol';
import { formatAddress, type SocketAddress } from '@spock/protocol/node';

import { connectChannel, disconnectChannel, type FaultMessage, faultChannel } from '../foundation/diagnostics.ts';
import type { DiplomatStatus } from '../foundation/status.ts';

/** Counts of one connection since it was made, and what it does now, as the client's status shows them. */
export type ConnectionCounts = Pick<
	DiplomatStatus,
	'inFlight' | 'waiting' | 'window' | 'lateReplies' | 'protocolFaults' | 'reconnects'
>;

/** What a connection reports: its counts, and the diagnostics channels of a process. */
export class ConnectionReport {
	lateReplies = 0;
	protocolFaults = 0;
	/** Connections that were greeted. */
	connects = 0;
	readonly #address: SocketAddress;

	constructor(address: SocketAddress) {
		this.#address = address;
	}

	connected(sidecar: string | null): void {
		this.connects++;
		if (connectChannel.hasSubscribers) {
			connectChannel.publish({ address: formatAddress(this.#address), sidecar, again: this.connects > 1 });
		}
	}

	disconnected(error: SpockError, wasReady: boolean): void {
		if (disconnectChannel.hasSubscribers) {
			disconnectChannel.publish({ address: formatAddress(this.#address), error, wasReady });
		}
	}

	fault(kind: FaultMessage['kind'], message: string): void {
		if (kind === 'late reply') this.lateReplies++;
		else this.protocolFaults++;
		if (faultChannel.hasSubscribers) faultChannel.publish({ address: formatAddress(this.#address), kind, message });
	}
}
