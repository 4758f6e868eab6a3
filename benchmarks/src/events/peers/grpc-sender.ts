import { credentials } from '@grpc/grpc-js';

import { loadStore, type StoreRequest } from '../table/store-proto.ts';
import type { Sender } from './sender.ts';

const READY_MS_MAX = 10_000;
/** Where each message is synced by itself, a thousand calls wait long. A server that is gone fails them at once. */
const CALL_MS_MAX = 60_000;
/** Back to a server that was killed as soon as the others are. */
const RECONNECT = { 'grpc.initial_reconnect_backoff_ms': 50, 'grpc.max_reconnect_backoff_ms': 50 };

type Put = (request: StoreRequest, options: { deadline: number }, reply: (error: Error | null) => void) => void;

/** One unary call for each event. */
export async function openGrpcSender(address: string): Promise<Sender> {
	const Store = loadStore();
	const client = new Store(address, credentials.createInsecure(), RECONNECT);
	await new Promise<void>((resolve, reject) => {
		client.waitForReady(Date.now() + READY_MS_MAX, (error) => (error === undefined ? resolve() : reject(error)));
	});
	const put = (client['Put'] as Put).bind(client);
	let messageId = 0;
	return {
		isSync: false,
		send: (event) =>
			new Promise((resolve, reject) => {
				const request = { version: 1, messageId: ++messageId, plain: Buffer.from(`${event}\n`) };
				put(request, { deadline: Date.now() + CALL_MS_MAX }, (error) => (error === null ? resolve() : reject(error)));
			}),
		settle: () => Promise.resolve(),
		close: () => Promise.resolve(client.close()),
	};
}
