import { type CallOutcome, callOutcomes, type EjectionRules, InstanceRecord } from '@spock/balancer';
import type { ServiceAddress, ServiceQuery, ServiceScope } from '@spock/protocol';
import { type Clock, isObject, isSameScope, oneOfOption, scopeKey, scopeOf, showAs } from '@spock/protocol/internal';
import { ejectionChannel } from '../foundation/diagnostics.ts';
import type { ResolvedOptions } from '../foundation/options.ts';
import type { EjectedInstance } from '../foundation/status.ts';

/** What the records need of the options. */
export type RecordOptions = EjectionRules & Pick<ResolvedOptions, 'clock' | 'random'>;

/** One instance at one place. */
export type Place = Pick<ServiceAddress, 'instance' | 'host' | 'port'>;

/** Where a call went: an address of a client, or any other with the query that it was found by. */
export type ReportedAddress = Place & { readonly query?: ServiceScope };

/** Most instances with a record; past it reports about others are forgotten at once. */
const RECORDS_MAX = 65_536;

/** The service of an address, and its key once it was needed. */
interface Given {
	readonly scope: ServiceScope;
	key: string | undefined;
}

interface Recorded {
	readonly scope: ServiceScope;
	readonly place: Place;
	readonly record: InstanceRecord;
}

/**
 * What the calls of this process have shown of instances: one record for each instance of a service at a place, whatever query found
 * it. Another service's instance of the same name or at the same address, and one that has moved, has a record of its own.
 */
export class InstanceRecords {
	/** Grows when an instance is ejected or forgiven: pickers arrange themselves again then. */
	revision = 0;
	readonly #options: RecordOptions;
	readonly #records = new Map<string, Recorded>();
	/** The service of each address that this client has returned. */
	readonly #given = new WeakMap<Place, Given>();

	constructor(options: RecordOptions) {
		this.#options = options;
	}

	get size(): number {
		return this.#records.size;
	}

	/** Remembers the service of an address, which may be reported without it later; returns the address. */
	given<A extends Place>(scope: ServiceScope, address: A): A {
		this.#given.set(address, { scope, key: undefined });
		return address;
	}

	find(scope: ServiceScope, place: Place): InstanceRecord | undefined {
		return this.#records.size === 0 ? undefined : this.#records.get(instanceKey(scope, place))?.record;
	}

	/** The record of an instance, made if necessary. */
	of(scope: ServiceScope, place: Place): InstanceRecord {
		const key = this.#keyOf(scope, place);
		const known = this.#records.get(key);
		if (known !== undefined) return known.record;
		const record = new InstanceRecord();
		if (this.#records.size < RECORDS_MAX) this.#records.set(key, { scope, place, record });
		return record;
	}

	/** Takes the end of a call into account; {@link checkReport} has accepted it. */
	report(
		scope: ServiceScope,
		place: Place,
		outcome: CallOutcome,
		durationMs: number,
		record: InstanceRecord = this.of(scope, place),
	): void {
		const { clock, random } = this.#options;
		const nowMs = clock.now();
		if (!record.report(outcome, durationMs, nowMs, this.#options, random)) return;
		this.revision++;
		if (ejectionChannel.hasSubscribers) ejectionChannel.publish(ejected({ scope, place, record }, nowMs));
	}

	/** `diplomat.report`: of an address that this client returned, or that has its query. Throws for any other, unless that is allowed. */
	reportAddress(address: ReportedAddress, outcome: CallOutcome, durationMs: number, isUnknownAllowed: boolean): void {
		checkReport(outcome, durationMs);
		const scope = isObject(address) ? this.#scopeOf(address) : undefined;
		if (scope !== undefined) this.report(scope, address, outcome, durationMs);
		else if (!isUnknownAllowed || !isObject(address)) throw unknownAddressError(address);
	}

	/** The registry reports it as healthy again. */
	forgive(scope: ServiceScope, place: Place): void {
		const record = this.find(scope, place);
		if (record === undefined || record.failures === 0) return;
		record.forgive();
		this.revision++;
	}

	/** The instances that are ejected now. */
	ejected(): readonly EjectedInstance[] {
		const nowMs = this.#options.clock.now();
		const out: EjectedInstance[] = [];
		for (const recorded of this.#records.values()) {
			if (recorded.record.ejectedUntilMs > nowMs) out.push(ejected(recorded, nowMs));
		}
		return out;
	}

	/** Forgets every instance that is not among these and has no call under way. */
	keepOnly(pickers: Iterable<{ readonly query: ServiceScope; readonly instances: readonly Place[] }>): void {
		const known = new Set<string>();
		for (const { query, instances } of pickers)
			for (const instance of instances) known.add(instanceKey(query, instance));
		for (const [key, { record }] of this.#records) {
			if (record.inFlight === 0 && !known.has(key)) this.#records.delete(key);
		}
	}

	/** The service of an address that was returned, or that has its query; undefined for any other. */
	#scopeOf(address: ReportedAddress): ServiceScope | undefined {
		const { query } = address;
		if (query === undefined) return this.#given.get(address)?.scope;
		return isPlaced(query, address) ? query : undefined;
	}

	/** Made once for each address that was returned: with one made each time, a lease took 900 ns and a report 680, and now 175 and 105. */
	#keyOf(scope: ServiceScope, place: Place): string {
		const given = this.#given.get(place);
		if (given === undefined || !isSameScope(given.scope, scope)) return instanceKey(scope, place);
		given.key ??= instanceKey(scope, place);
		return given.key;
	}
}

/** True for an address with the members that identify an instance; the caller may not use TypeScript. */
function isPlaced(scope: ServiceScope | null, { instance, host }: Place): boolean {
	return [scope?.service, instance, host].every((text) => typeof text === 'string');
}

/** Throws a TypeError or a RangeError for an outcome or a time that would ruin what is known of an instance. */
function checkReport(outcome: CallOutcome, durationMs: number): void {
	oneOfOption('outcome', outcome, callOutcomes);
	if (Number.isFinite(durationMs) && durationMs >= 0) return;
	throw new RangeError(`durationMs must be a finite number of at least 0, not ${durationMs}`);
}

function unknownAddressError(address: unknown): TypeError {
	const got = typeof address === 'string' ? JSON.stringify(address) : 'another object';
	return new TypeError(
		`address must be one that this client returned, or have the \`query\` it was found by; got ${got}`,
	);
}

/** Equal for the same instance of the same service at the same place, and for no other. */
export function instanceKey(scope: ServiceScope, { instance, host, port }: Place): string {
	return scopeKey(scope, instance, host, port);
}

function ejected({ scope, place, record }: Recorded, nowMs: number): EjectedInstance {
	const { instance, host, port } = place;
	return {
		...scopeOf(scope),
		instance,
		host,
		port,
		leftMs: Math.round(record.ejectedUntilMs - nowMs),
		failures: record.failures,
		ejections: record.ejections,
	};
}

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
