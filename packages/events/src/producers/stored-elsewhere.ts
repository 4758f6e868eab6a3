import type { SpockError } from '@spock/protocol';

import type { LogEvent } from '../foundation/log-record.ts';
import { REFUSED_SUFFIX } from '../foundation/moved-event.ts';
import type { Producer, StreamPlace } from './producer.ts';
import type { ProducerTable } from './producer-table.ts';

/** Which streams have their store elsewhere, so that what is on disk is not stored yet. */
export type IsElsewhere = (stream: string) => boolean;

/** Of a store's reason; the rest is cut off. */
const REASON_LENGTH_MAX = 512;

/** Brings what stores elsewhere have acknowledged to the producers of it. Nothing is kept for an event that is not stored. */
export class StoredElsewhere {
	readonly #table: ProducerTable;
	readonly #isElsewhere: IsElsewhere;
	readonly #tell: (producer: Producer) => void;

	/** `tell`: places of the producer have changed. */
	constructor(table: ProducerTable, isElsewhere: IsElsewhere, tell: (producer: Producer) => void) {
		this.#table = table;
		this.#isElsewhere = isElsewhere;
		this.#tell = tell;
	}

	/**
	 * The log was read: which of its events are stored is not known. A `seq` counts as stored again when its event is acknowledged, or
	 * when the store has everything of the stream.
	 */
	recovered(lastOf: (stream: string) => number): void {
		for (const [, place] of this.#places()) {
			if (!this.#isElsewhere(place.stream)) continue;
			place.stored = 0;
			place.position = lastOf(place.stream);
		}
	}

	/** These events of a stream are stored, in order. */
	stored(stream: string, events: readonly LogEvent[]): void {
		const touched = new Set<Producer>();
		for (const { producer: name, epoch, seq } of events) {
			const producer = name === '' ? undefined : this.#table.get(name);
			const place = producer?.epoch === epoch ? producer.places.get(stream) : undefined;
			if (producer === undefined || place === undefined || seq <= place.stored) continue;
			producer.storedTo(place, seq);
			touched.add(producer);
		}
		for (const producer of touched) this.#tell(producer);
	}

	/** The store of its stream never takes this event. A feeder of another log counts it as stored: its log has it in a stream of the refused. */
	refused({ stream, producer: name, epoch, seq }: LogEvent, { code, message: reason }: SpockError): void {
		const producer = name === '' ? undefined : this.#table.get(name);
		if (producer === undefined || producer.epoch !== epoch || producer.hasGaps) return;
		const where = `"${stream}${REFUSED_SUFFIX}"`;
		const message = `its store never takes it, and it is in ${where}: ${reason.slice(0, REASON_LENGTH_MAX)}`;
		producer.storeRefused({ seq, code, message });
		this.#tell(producer);
	}

	/** Every event of a stream up to this position is stored. */
	reached(stream: string, position: number): void {
		for (const [producer, place] of this.#places()) {
			if (place.stream !== stream || place.position > position || place.stored >= place.appended) continue;
			producer.storedTo(place, place.appended);
			this.#tell(producer);
		}
	}

	*#places(): Iterable<readonly [Producer, StreamPlace]> {
		for (const producer of this.#table.all()) for (const place of producer.places.values()) yield [producer, place];
	}
}
