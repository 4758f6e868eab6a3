import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';

import { type Sender, STREAM } from './sender.ts';

/** As its users do it: one connection that comes back, and a message id, by which the server knows a repeated call. */
export async function openNatsSender(address: string): Promise<Sender> {
	const connection = await connect({ servers: address, maxReconnectAttempts: -1, reconnectTimeWait: 50 });
	const manager = await jetstreamManager(connection);
	await manager.streams.add({ name: STREAM, subjects: [STREAM] });
	const stream = jetstream(connection);
	return {
		isSync: false,
		send: async (event, id) => {
			await stream.publish(STREAM, event, { msgID: id });
		},
		settle: () => connection.flush(),
		close: () => connection.close(),
	};
}
