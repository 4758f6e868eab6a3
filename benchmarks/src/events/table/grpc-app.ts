import { once } from 'node:events';

import { type Client, type ClientDuplexStream, credentials } from '@grpc/grpc-js';

import { Samples } from '../../load/samples.ts';
import { type AppReport, type AppWork, type MessageSupply, waitOf } from './app-work.ts';
import { pack } from './packing.ts';
import { loadStore, type StoreRequest, type StoreResponse } from './store-proto.ts';

/** The original's figures. */
const CONNECTIONS = 54;
const WINDOW = 100;
const PART_BYTES_MAX = 64 * 1024;
const READY_MS_MAX = 10_000;

type StoreClient = Client & {
	Put(request: StoreRequest, reply: (error: Error | null) => void): void;
	Send(): ClientDuplexStream<StoreRequest, StoreResponse>;
};

/** 54 connections with one message in flight each. */
export async function sendUnary(work: AppWork, supply: MessageSupply): Promise<AppReport> {
	const clients = await Promise.all(Array.from({ length: CONNECTIONS }, () => open(work.address)));
	const waits = new Samples();
	const startedMs = performance.now();
	await Promise.all(
		clients.map(async (client) => {
			for (let text = supply.take(); text !== undefined; text = supply.take()) {
				const request = requestOf(supply.given, Buffer.from(text), work.isPacked);
				const sentMs = performance.now();
				await new Promise<void>((resolve, reject) => {
					client.Put(request, (error) => (error === null ? resolve() : reject(error)));
				});
				waits.add(performance.now() - sentMs);
			}
		}),
	);
	const seconds = (performance.now() - startedMs) / 1000;
	for (const client of clients) client.close();
	return { seconds, messages: supply.given, bytes: supply.bytes, waits: { acknowledged: waitOf(waits) } };
}

/** One stream with a window of 100 requests, each of at most 64 KiB. */
export async function sendStream({ address, isPacked }: AppWork, supply: MessageSupply): Promise<AppReport> {
	const client = await open(address);
	const stream = client.Send();
	const waits = new Samples();
	const sentMs = new Map<number, number>();
	let room: () => void = () => undefined;
	stream.on('data', ({ acked }: StoreResponse) => {
		const nowMs = performance.now();
		for (const id of acked) {
			waits.add(nowMs - (sentMs.get(id) ?? Number.NaN));
			sentMs.delete(id);
		}
		room();
	});
	const failed = new Promise<never>((_resolve, reject) => stream.once('error', reject));
	const until = async (inFlightMax: number): Promise<void> => {
		while (sentMs.size > inFlightMax) {
			const acked = new Promise<void>((resolve) => {
				room = resolve;
			});
			await Promise.race([acked, failed]);
		}
	};
	const startedMs = performance.now();
	let id = 0;
	for (let text = supply.take(); text !== undefined; text = supply.take()) {
		const message = Buffer.from(text);
		for (let from = 0; from < message.length; from += PART_BYTES_MAX) {
			await until(WINDOW - 1);
			const part = message.subarray(from, from + PART_BYTES_MAX);
			sentMs.set(++id, performance.now());
			stream.write(requestOf(id, part, isPacked));
		}
	}
	await until(0);
	const seconds = (performance.now() - startedMs) / 1000;
	failed.catch(() => undefined);
	stream.end();
	await once(stream, 'status');
	client.close();
	return { seconds, messages: supply.given, bytes: supply.bytes, waits: { acknowledged: waitOf(waits) } };
}

function requestOf(messageId: number, message: Buffer, isPacked: boolean): StoreRequest {
	return { version: 1, messageId, ...(isPacked ? { packed: pack(message) } : { plain: message }) };
}

/** With a connection of its own. */
async function open(address: string): Promise<StoreClient> {
	const Store = loadStore();
	const client = new Store(address, credentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1 });
	await new Promise<void>((resolve, reject) => {
		client.waitForReady(Date.now() + READY_MS_MAX, (error) => (error === undefined ? resolve() : reject(error)));
	});
	return client as unknown as StoreClient;
}
