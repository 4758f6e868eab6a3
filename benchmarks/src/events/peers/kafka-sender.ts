import { Producer, stringSerializers } from '@platformatic/kafka';

import { type Sender, STREAM } from './sender.ts';

/** Back to a broker that was killed as soon as the others are. */
const RETRY_DELAY_MS = 50;

/** One event that waits for its request. */
interface Waiting {
	readonly value: string;
	resolve(): void;
	reject(error: unknown): void;
}

/**
 * An idempotent producer, which has one request on its way: what is called meanwhile goes together in the next one, as the client's own stream
 * of messages and the clients of other languages have it. It repeats a request that fails until it is done.
 */
export async function openKafkaSender(address: string): Promise<Sender> {
	const producer = new Producer({
		clientId: 'bench',
		bootstrapBrokers: [address],
		serializers: stringSerializers,
		idempotent: true,
		retryDelay: RETRY_DELAY_MS,
	});
	await producer.metadata({ topics: [STREAM] });
	let waiting: Waiting[] = [];
	let isSending = false;
	const sendAll = async (): Promise<void> => {
		isSending = true;
		// What is called in the same tick goes together.
		await Promise.resolve();
		while (waiting.length > 0) {
			const batch = waiting;
			waiting = [];
			try {
				await producer.send({ messages: batch.map(({ value }) => ({ topic: STREAM, value })) });
				for (const { resolve } of batch) resolve();
			} catch (error) {
				for (const { reject } of batch) reject(error);
			}
		}
		isSending = false;
	};
	return {
		isSync: false,
		send: (value) =>
			new Promise((resolve, reject) => {
				waiting.push({ value, resolve, reject });
				if (!isSending) void sendAll();
			}),
		settle: () => Promise.resolve(),
		close: () => producer.close(),
	};
}
