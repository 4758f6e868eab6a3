import { jetstreamManager } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { SpockError } from '@spock/protocol';
import { waitFor } from '@spock/testkit';

import type { LogEvent } from '../src/index.ts';
import type { JetStreamStore } from '../src/stores/jetstream/jetstream-store.ts';

const PATIENCE_MS = 60_000;
const STREAM = 'orders';

/** Feeds events as a forwarder does: after a fault it asks where the store is, and goes on behind that. */
export async function feed(
	store: JetStreamStore,
	events: readonly LogEvent[],
	stored: (position: number) => void = () => undefined,
): Promise<void> {
	const last = events.at(-1)?.position ?? 0;
	await waitFor(
		`a store that has the event at ${last}`,
		async () => {
			try {
				const from = await store.lastOf(STREAM);
				const rest = events.filter(({ position }) => position > from);
				for (let index = 0; index < rest.length; index += 500) {
					await store.append(STREAM, rest.slice(index, index + 500), stored);
				}
				return true;
			} catch (error) {
				if (!SpockError.is(error, 'UNAVAILABLE')) throw error;
				return false;
			}
		},
		PATIENCE_MS,
	);
}

/** What every message of the stream was made from, in the order of the stream, as the server itself gives it. */
export async function storedPayloads(address: string, count: number): Promise<readonly StoredPayload[]> {
	const connection = await connect({ servers: address, timeout: 10_000 });
	try {
		const manager = await jetstreamManager(connection, { timeout: 10_000 });
		const name = `spock-${STREAM}`;
		const { state } = await manager.streams.info(name);
		const payloads: StoredPayload[] = [];
		const sequences = Array.from({ length: state.messages }, (_, index) => state.first_seq + index);
		for (let index = 0; index < sequences.length; index += 200) {
			const page = await Promise.all(
				sequences.slice(index, index + 200).map((seq) => manager.streams.getMessage(name, { seq })),
			);
			for (const message of page) {
				if (message !== null) payloads.push({ payload: message.json<number>(), subject: message.subject });
			}
		}
		if (payloads.length < count) throw new Error(`${payloads.length} of ${count} events are stored`);
		return payloads;
	} finally {
		await connection.close();
	}
}

export interface StoredPayload {
	readonly payload: number;
	readonly subject: string;
}

/** Who leads the stream, and whether the others have everything. */
export interface LeaderView {
	readonly leader: string | undefined;
	readonly isCurrent: boolean;
	/** What the server says of its cluster, as JSON. */
	readonly said: string;
}

/** Undefined while nobody answers. */
export async function leaderOf(addresses: readonly string[]): Promise<LeaderView | undefined> {
	let connection: NatsConnection | undefined;
	try {
		connection = await connect({ servers: [...addresses], timeout: 5000, reconnect: false });
		const manager = await jetstreamManager(connection, { timeout: 5000, checkAPI: false });
		const { cluster } = await manager.streams.info(`spock-${STREAM}`);
		const { leader, replicas = [] } = cluster ?? {};
		const isCurrent = Boolean(leader) && replicas.every(({ current, offline }) => current && offline !== true);
		return { leader, isCurrent, said: JSON.stringify(cluster) };
	} catch {
		return undefined;
	} finally {
		await connection?.close();
	}
}
