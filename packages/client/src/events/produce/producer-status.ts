import type { EventWindow } from '@spock/protocol';
import type { EventStreams } from './event-stream.ts';
import type { Outbox } from './outbox.ts';
import type { OutboxStateName } from './outbox-machine.ts';

/** What a producer knows of itself; made anew at each call of `status`. */
export interface ProducerStatus {
	/** Its name: a UUID, or the option `producer`. */
	readonly producer: string;
	/** Null before the sidecar has known it. */
	readonly epoch: number | null;
	readonly state: OutboxStateName;
	/** Events accepted since the start. */
	readonly accepted: number;
	/** Of them, those that are on the sidecar's disk or were refused. */
	readonly persisted: number;
	/** For each stream, the number of the last event that its store holds; events are numbered over all streams, from 1. */
	readonly stored: Readonly<Record<string, number>>;
	/** Events that were refused since the start. */
	readonly refused: number;
	/** What is accepted and not persisted, and its bytes. */
	readonly kept: number;
	readonly keptBytes: number;
	/** Of that, events which would be lost with this process: they have not left it. 0 at rest. */
	readonly unsent: number;
	/** Calls of `publish` that wait for room. */
	readonly waiting: number;
	/** What may be sent and not persisted; null while there is no line to the sidecar. */
	readonly window: EventWindow | null;
	/** Why the sidecar has no room, while it has none; null otherwise, or for an unknown reason. */
	readonly reason: string | null;
	/** Why the last attempt to open a line, or the last line, ended, for people; null if none has. */
	readonly lastError: string | null;
}

/** What a status is made of. */
export interface StatusParts extends Pick<ProducerStatus, 'waiting' | 'reason' | 'refused' | 'lastError'> {
	readonly outbox: Outbox;
	readonly streams: EventStreams;
	/** What was written and has not left this process. */
	readonly bufferedBytes: number;
}

export function makeStatus({ outbox, streams, bufferedBytes, ...rest }: StatusParts): ProducerStatus {
	const { producer, epoch = null, state, persisted, kept, window = null } = outbox;
	return {
		producer,
		epoch,
		state,
		accepted: kept.last,
		persisted,
		stored: Object.fromEntries([...streams.all()].map(({ name, stored }) => [name, stored])),
		kept: kept.count,
		keptBytes: kept.bytes,
		unsent: kept.last + 1 - firstUnsent(outbox, bufferedBytes),
		window,
		...rest,
	};
}

/** `seq` of the first event of which a part may still be in this process. */
function firstUnsent({ kept }: Outbox, bufferedBytes: number): number {
	let first = kept.next;
	for (let bytes = 0; bytes < bufferedBytes && first > kept.first; ) bytes += kept.bytesOf(--first);
	return first;
}
