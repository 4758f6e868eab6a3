import { SpockError } from '@spock/protocol';

import type { EventMessage } from './event-message.ts';
import type { ApiError, IngestEnd, IngestOptions } from './fast-ingest.ts';
import { type NatsSession, storeError } from './nats-link.ts';

/** A message, and in which partition it keeps its place. */
export interface PartitionMessage {
	readonly partition: number;
	readonly message: EventMessage;
}

interface PublishAnswer {
	readonly seq?: number;
	readonly error?: ApiError;
}

/**
 * For servers without fast ingest: one publish in flight for each partition, which keeps the order within each. Resolves when every message
 * was answered, or the first was refused. Rejects with UNAVAILABLE once any is not answered: then any of them may be stored, but of each
 * partition only from its first on.
 */
export async function partitionIngest(
	session: NatsSession,
	messages: readonly PartitionMessage[],
	{ timeoutMs, stored }: IngestOptions,
): Promise<IngestEnd> {
	const lanes = new Map<number, number[]>();
	for (const [index, { partition }] of messages.entries()) {
		const lane = lanes.get(partition) ?? [];
		lane.push(index);
		lanes.set(partition, lane);
	}
	const isStored: boolean[] = [];
	let storedCount = 0;
	let refusedIndex = messages.length;
	let refused: ApiError | undefined;
	const feed = async (lane: readonly number[]): Promise<void> => {
		for (const index of lane) {
			if (index > refusedIndex) return;
			const error = await publish(session, (messages[index] as PartitionMessage).message, timeoutMs);
			if (error !== undefined) {
				if (index < refusedIndex) [refusedIndex, refused] = [index, error];
				return;
			}
			isStored[index] = true;
			const before = storedCount;
			while (isStored[storedCount] === true) storedCount++;
			if (storedCount > before) stored(storedCount);
		}
	};
	const fed = await Promise.allSettled([...lanes.values()].map(feed));
	for (const lane of fed) if (lane.status === 'rejected') throw lane.reason;
	return refused === undefined ? { stored: storedCount } : { stored: storedCount, refused };
}

/** What the server says against it; undefined once it is stored. */
async function publish(
	session: NatsSession,
	{ subject, headers, payload }: EventMessage,
	timeout: number,
): Promise<ApiError | undefined> {
	if (session.ended.aborted) throw session.ended.reason;
	try {
		const answer = await session.connection.request(subject, payload, { headers, timeout });
		const { seq = 0, error } = answer.json<PublishAnswer>();
		if (error === undefined && seq === 0)
			throw new SpockError('UNAVAILABLE', 'no stream of NATS has taken the message');
		return error;
	} catch (error) {
		throw session.ended.aborted ? session.ended.reason : storeError('the NATS server did not take a message', error);
	}
}
