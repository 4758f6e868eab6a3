import { isStreamName, STREAM_NAME_LENGTH_MAX } from '@spock/protocol';
import { wrongType } from '@spock/protocol/internal';
import { overloadedError } from '../../foundation/errors.ts';

/** Most streams that one producer emits to: for each of them it knows how far its events have come. */
export const STREAMS_MAX = 4096;

/** What a producer knows of a stream. */
export interface EventStream {
	readonly name: string;
	/** Of the text of an event with a payload alone, everything in front of it. */
	readonly head: string;
	/** The same, in its line on the uplink, behind `seq`. */
	readonly lineHead: string;
	/** `seq` of the last event that was accepted; 0 before the first. */
	accepted: number;
	/** `seq` of the last event that was persisted and not refused. */
	persisted: number;
	/** Every event up to this `seq` is in the store. */
	stored: number;
}

/** The streams of one producer. */
export class EventStreams {
	readonly #streams = new Map<string, EventStream>();

	/** The stream of this name; made at its first use. Throws a TypeError for a bad name, OVERLOADED past {@link STREAMS_MAX}. */
	of(name: string): EventStream {
		return this.#streams.get(name) ?? this.#add(name);
	}

	/** One that was used before. */
	find(name: string): EventStream | undefined {
		return this.#streams.get(name);
	}

	/** Each of them, oldest first. */
	all(): IterableIterator<EventStream> {
		return this.#streams.values();
	}

	#add(name: string): EventStream {
		if (!isStreamName(name)) {
			throw wrongType('stream', `1 to ${STREAM_NAME_LENGTH_MAX} letters, digits, "_", "." or "-"`, name);
		}
		if (this.#streams.size >= STREAMS_MAX) throw overloadedError('emit', 'streamsMax', STREAMS_MAX);
		const head = `{"stream":"${name}","payload":`;
		const lineHead = `,"func":"event","data":${head}`;
		const stream = { name, head, lineHead, accepted: 0, persisted: 0, stored: 0 };
		this.#streams.set(name, stream);
		return stream;
	}
}
