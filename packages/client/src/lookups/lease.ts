import type { CallOutcome, InstanceRecord } from '@spock/balancer';
import type { ServiceAddress, ServiceQuery } from '@spock/protocol';
import { type Clock, showAs } from '@spock/protocol/internal';

import { checkReport, type InstanceRecords } from './instance-records.ts';

/**
 * An instance that was picked for one call. The call counts as in flight at that instance until it is released: the
 * caller releases every lease that it acquires, however the call ends.
 */
export interface Lease {
	/** The query that found the instance; `query.service` is the service's name. */
	readonly query: ServiceQuery;
	/** Where the instance is. */
	readonly address: ServiceAddress;
	/**
	 * Ends the call, and reports how it ended: see `diplomat.report`. Only the first time counts.
	 *
	 * @param durationMs How long the instance took, in milliseconds. Default: since the lease was made.
	 */
	release(outcome: CallOutcome, durationMs?: number): void;
}

/** A lease that is remembered in the records of a client. */
export class RecordedLease implements Lease {
	readonly query: ServiceQuery;
	readonly address: ServiceAddress;
	readonly #records: InstanceRecords;
	readonly #record: InstanceRecord;
	readonly #clock: Clock;
	readonly #startedMs: number;
	#isReleased = false;

	constructor(query: ServiceQuery, address: ServiceAddress, records: InstanceRecords, clock: Clock) {
		this.query = query;
		this.address = address;
		this.#records = records;
		this.#record = records.of(query, address);
		this.#record.inFlight++;
		this.#clock = clock;
		this.#startedMs = clock.now();
	}

	release(outcome: CallOutcome, durationMs: number = this.#clock.now() - this.#startedMs): void {
		if (this.#isReleased) return;
		checkReport(outcome, durationMs);
		this.#isReleased = true;
		this.#record.inFlight--;
		this.#records.report(this.query, this.address, outcome, durationMs, this.#record);
	}
}

showAs(RecordedLease, 'Lease', ({ query, address }) => ({ query, address }));
