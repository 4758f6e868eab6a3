import type { CallOutcome } from '@spock/balancer';
import type { ServiceAddress, ServiceQuery } from '@spock/protocol';
import { type Clock, systemClock } from '@spock/protocol/internal';

import type { Diplomat } from '../diplomat.ts';
import type { Lease } from '../lookups/instance-records.ts';
import { InstanceResources } from './instance-resources.ts';

/** What {@link InstanceConnections} needs. */
export interface InstanceConnectionsOptions<C> {
	readonly diplomat: Diplomat;
	/** Is called once for a connection whose instance has left the snapshot: it ends when its work allows. Must not throw. */
	readonly leave: (connection: C) => void;
	/** Default: that of the process. */
	readonly clock?: Clock;
}

/**
 * Long-lived connections, such as those to a database, with the leases that they live on. A lease lasts as long as its
 * connection, so that what is in flight at an instance is its open connections; that the connection could be made is
 * reported as soon as it is known. `leave` is called for connections to an instance that has left the snapshot, or has moved.
 */
export class InstanceConnections<C> {
	readonly #diplomat: Diplomat;
	readonly #clock: Clock;
	readonly #groups: InstanceResources<Set<C>>;

	constructor({ diplomat, leave, clock = systemClock }: InstanceConnectionsOptions<C>) {
		this.#diplomat = diplomat;
		this.#clock = clock;
		this.#groups = new InstanceResources<Set<C>>({
			diplomat,
			create: () => new Set(),
			drain: (group) => {
				for (const connection of [...group]) leave(connection);
			},
		});
	}

	/** Begins a connection to the leased instance. The caller calls `end` of the returned lease. */
	add(lease: Lease, connection: C): ConnectionLease {
		const group = this.#groups.get(lease.query, lease.address);
		group.add(connection);
		return new ConnectionLease(lease, this.#diplomat, this.#clock, () => {
			group.delete(connection);
			if (group.size === 0) this.#groups.delete(group);
		});
	}
}

/** The lease of one connection, from the attempt to make it to its end. */
export class ConnectionLease {
	readonly query: ServiceQuery;
	readonly address: ServiceAddress;
	readonly #lease: Lease;
	readonly #diplomat: Diplomat;
	readonly #clock: Clock;
	readonly #forget: () => void;
	readonly #startedMs: number;
	#state: 'connecting' | 'open' | 'ended' = 'connecting';

	/** Made by {@link InstanceConnections.add}. */
	constructor(lease: Lease, diplomat: Diplomat, clock: Clock, forget: () => void) {
		this.query = lease.query;
		this.address = lease.address;
		this.#lease = lease;
		this.#diplomat = diplomat;
		this.#clock = clock;
		this.#forget = forget;
		this.#startedMs = clock.now();
	}

	/** True until the server has answered, or the connection has ended. */
	get isConnecting(): boolean {
		return this.#state === 'connecting';
	}

	/** The server has answered: a success, which took the time since the lease was made. Only the first time counts. */
	opened(): void {
		if (this.#state !== 'connecting') return;
		this.#state = 'open';
		this.#diplomat.report(this.address, 'success', this.#clock.now() - this.#startedMs);
	}

	/**
	 * The connection has ended: `failure` when it could not be made or was lost, `cancelled` when either side closed it in
	 * good order. Only the first time counts.
	 */
	end(outcome: Exclude<CallOutcome, 'success'>): void {
		if (this.#state === 'ended') return;
		const wasOpen = this.#state === 'open';
		this.#state = 'ended';
		// How long a connection lived says nothing of how fast its server answers.
		this.#lease.release(outcome, wasOpen ? 0 : undefined);
		this.#forget();
	}
}
