import { type CallOutcome, callOutcomes, type EjectionRules, InstanceRecord } from '@spock/balancer';
import { oneOfOption } from '@spock/protocol/internal';

import { ejectionChannel } from './diagnostics.ts';
import type { ResolvedOptions } from './options.ts';
import type { EjectedInstance } from './status.ts';

/** What this class needs of the options. */
export type RecordOptions = EjectionRules & Pick<ResolvedOptions, 'clock' | 'random'>;

/** Most instances of which something is remembered; past it what is reported of others is forgotten at once. */
const RECORDS_MAX = 65_536;

/** What the calls of this process have told of instances, by their names: one record, whatever services it is found by. */
export class InstanceRecords {
	/** Counted up whenever an instance goes out, or is forgiven: who picks looks again then. */
	revision = 0;
	readonly #options: RecordOptions;
	readonly #records = new Map<string, InstanceRecord>();

	constructor(options: RecordOptions) {
		this.#options = options;
	}

	get size(): number {
		return this.#records.size;
	}

	find(instance: string): InstanceRecord | undefined {
		return this.#records.get(instance);
	}

	/** The record of an instance, made if need be. */
	of(instance: string): InstanceRecord {
		let record = this.#records.get(instance);
		if (record === undefined) {
			record = new InstanceRecord();
			if (this.#records.size < RECORDS_MAX) this.#records.set(instance, record);
		}
		return record;
	}

	/** Takes the end of a call into account. */
	report(instance: string, outcome: CallOutcome, durationMs: number, record: InstanceRecord = this.of(instance)): void {
		oneOfOption('outcome', outcome, callOutcomes);
		const { clock, random } = this.#options;
		const nowMs = clock.now();
		if (!record.report(outcome, durationMs, nowMs, this.#options, random)) return;
		this.revision++;
		if (ejectionChannel.hasSubscribers) ejectionChannel.publish(ejected(instance, record, nowMs));
	}

	/** The registry says that it is another one now, or well again. */
	forgive(instance: string): void {
		const record = this.#records.get(instance);
		if (record === undefined || record.failures === 0) return;
		record.forgive();
		this.revision++;
	}

	/** Those that are ejected now. */
	ejected(): readonly EjectedInstance[] {
		const nowMs = this.#options.clock.now();
		const out: EjectedInstance[] = [];
		for (const [instance, record] of this.#records) {
			if (record.ejectedUntilMs > nowMs) out.push(ejected(instance, record, nowMs));
		}
		return out;
	}

	/** Forgets every instance that is not among these and has no call under way. */
	keepOnly(instances: ReadonlySet<string>): void {
		for (const [instance, { inFlight }] of this.#records) {
			if (inFlight === 0 && !instances.has(instance)) this.#records.delete(instance);
		}
	}
}

function ejected(instance: string, record: InstanceRecord, nowMs: number): EjectedInstance {
	return {
		instance,
		leftMs: Math.round(record.ejectedUntilMs - nowMs),
		failures: record.failures,
		ejections: record.ejections,
	};
}
