import { type JetStreamManager, jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { findNats, type RealNats, startNats } from '@spock/testkit/real-nats';

import { STREAM } from './sender.ts';
import { numbersIn, type Site } from './site.ts';

/** A server with JetStream, to which the app talks itself. */
export async function openNatsSite(): Promise<Site> {
	const nats = await startBroker();
	return {
		address: addressOf(nats),
		kill: () => restartBroker(nats),
		read: () => readJetStream(nats),
		close: async () => nats[Symbol.asyncDispose](),
	};
}

/** The server that JetStream is at, for all peers that store there. */
export function startBroker(): Promise<RealNats> {
	return startNats({ binary: findNats(process.env) });
}

/** `127.0.0.1:4222`. */
export function addressOf({ addresses }: RealNats): string {
	return addresses[0] as string;
}

/** Kills it and starts it again. */
export async function restartBroker({ servers }: RealNats): Promise<void> {
	const [server] = servers;
	await server?.kill();
	await server?.start();
}

/** Makes the stream for an app that cannot do it itself. */
export async function addStream(nats: RealNats): Promise<void> {
	const connection = await connect({ servers: addressOf(nats) });
	await (await jetstreamManager(connection)).streams.add({ name: STREAM, subjects: [STREAM] });
	await connection.close();
}

/** What all streams of the server have. */
export async function readJetStream(nats: RealNats): Promise<number[]> {
	const connection = await connect({ servers: addressOf(nats) });
	try {
		const manager = await jetstreamManager(connection);
		const texts: string[] = [];
		for await (const { config, state } of manager.streams.list()) {
			texts.push(...(await messagesOf(manager, config.name, state.first_seq, state.last_seq)));
		}
		return numbersIn(texts);
	} finally {
		await connection.close();
	}
}

async function messagesOf(manager: JetStreamManager, name: string, first: number, last: number): Promise<string[]> {
	const texts: string[] = [];
	for (let seq = Math.max(1, first); seq <= last; seq++) {
		const message = await manager.streams.getMessage(name, { seq });
		if (message !== null) texts.push(message.string());
	}
	return texts;
}
