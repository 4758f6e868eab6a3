import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { type JetStreamManager, jetstreamManager } from '@nats-io/jetstream';
import { connect as connectNats } from '@nats-io/transport-node';
import { connect } from '@spock/client';
import { openEvents } from '@spock/client/events';
import { findNats, type RealNats, startNats } from '@spock/testkit/real-nats';

import { freePort } from '../../free-port.ts';
import { type ServerProcess, startAnnouncedServer } from '../../processes.ts';
import type { OwnTools } from '../../toolbox.ts';
import { startSidecar } from '../table/sidecars.ts';
import { GRPC_FILE, type StorePlace } from '../table/store-place.ts';
import type { KillTarget, PeerId } from './peers-results.ts';
import { STREAM } from './sender.ts';

/** The servers of a peer. */
export interface Site {
	readonly address: string;
	/** Kills one of them and starts it again. */
	kill(target: Exclude<KillTarget, 'app'>): Promise<void>;
	/** The numbers of all events that are in the store, one for each time. No app may be sending. */
	read(): Promise<readonly number[]>;
	close(): Promise<void>;
}

const NUMBER = /"n\\?":(\d+)/;
const PATIENCE = { timeoutMs: 60_000 };

/** Starts the servers of a peer in a directory of its own. */
export async function openSite(tools: OwnTools, peer: PeerId, directory: string): Promise<Site> {
	if (peer === 'grpc') return openGrpcSite(tools, directory);
	if (peer === 'nats') return openNatsSite();
	return openSpockSite(tools, directory, peer === 'stored' ? await startNats(natsOptions()) : undefined);
}

function natsOptions(): { readonly binary: string } {
	return { binary: findNats(process.env) };
}

async function openSpockSite(tools: OwnTools, directory: string, nats: RealNats | undefined): Promise<Site> {
	const settings =
		nats === undefined ? [] : ['--events-store', 'jetstream', '--events-nats-servers', nats.addresses.join(',')];
	const log = join(directory, 'log');
	const socket = join(directory, 'sidecar.sock');
	const start = (): ServerProcess => startSidecar(tools, { log, socket, settings });
	let sidecar = start();
	return {
		address: socket,
		kill: async (target) => {
			if (target === 'broker') return restart(nats);
			await kill(sidecar);
			sidecar = start();
		},
		read: async () => {
			const numbers = await readEvents(socket);
			return nats === undefined ? numbers : readJetStream(nats);
		},
		close: async () => {
			await sidecar.close();
			await nats?.[Symbol.asyncDispose]();
		},
	};
}

async function openNatsSite(): Promise<Site> {
	const nats = await startNats(natsOptions());
	return {
		address: nats.addresses[0] as string,
		kill: () => restart(nats),
		read: () => readJetStream(nats),
		close: async () => nats[Symbol.asyncDispose](),
	};
}

async function openGrpcSite(tools: OwnTools, directory: string): Promise<Site> {
	const place: StorePlace = { kind: 'grpc', directory, port: await freePort() };
	const start = (): Promise<ServerProcess> =>
		startAnnouncedServer([tools.node, tools.entry('events-store'), JSON.stringify(place)]);
	let server = await start();
	return {
		address: `127.0.0.1:${place.port}`,
		kill: async () => {
			await kill(server);
			server = await start();
		},
		read: async () => numbersIn((await readFile(join(directory, GRPC_FILE), 'utf8')).split('\n')),
		close: () => server.close(),
	};
}

async function kill(server: ServerProcess): Promise<void> {
	process.kill(server.pid, 'SIGKILL');
	await server.close();
}

async function restart(nats: RealNats | undefined): Promise<void> {
	const [server] = nats?.servers ?? [];
	await server?.kill();
	await server?.start();
}

/** What the sidecar's log has of the stream, up to an event that is published now: it is behind all others. */
async function readEvents(path: string): Promise<number[]> {
	const diplomat = await connect({ path });
	const events = openEvents({ diplomat });
	await events.publish(STREAM, 'last', { until: 'stored', ...PATIENCE });
	const texts: string[] = [];
	for await (const event of events.consume(STREAM, { from: 'first' })) {
		event.ack();
		if (event.data === 'last') break;
		texts.push(String(event.data));
	}
	await diplomat.close();
	return numbersIn(texts);
}

/** What all streams of the server have. */
async function readJetStream({ addresses }: RealNats): Promise<number[]> {
	const connection = await connectNats({ servers: addresses[0] as string });
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

/** Those of the kill loop; what else was sent has none. */
function numbersIn(texts: readonly string[]): number[] {
	return texts.flatMap((text) => {
		const found = NUMBER.exec(text)?.[1];
		return found === undefined ? [] : [Number(found)];
	});
}
