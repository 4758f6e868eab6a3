import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { connect } from '@spock/client';
import { openEvents } from '@spock/client/events';
import type { RealNats } from '@spock/testkit/real-nats';

import { freePort } from '../../free-port.ts';
import { type ServerProcess, startAnnouncedServer } from '../../processes.ts';
import type { OwnTools, Tool } from '../../toolbox.ts';
import { startSidecar } from '../table/sidecars.ts';
import { GRPC_FILE, type StorePlace } from '../table/store-place.ts';
import { openDaprSite } from './dapr-site.ts';
import { openKafkaSite } from './kafka-site.ts';
import { addressOf, openNatsSite, readJetStream, restartBroker, startBroker } from './nats-site.ts';
import type { PeerPrograms } from './peer-programs.ts';
import type { PeerId } from './peers-results.ts';
import { STREAM } from './sender.ts';
import { killServer, numbersIn, type Site } from './site.ts';

const PATIENCE = { timeoutMs: 60_000 };

/** What the servers of a peer are started with. */
export interface SiteTools {
	readonly tools: OwnTools;
	readonly programs: PeerPrograms;
	/** Of its own, for what they keep. */
	readonly directory: string;
}

/** Starts the servers of a peer. */
export async function openSite(peer: PeerId, { tools, programs, directory }: SiteTools): Promise<Site> {
	if (peer === 'grpc') return openGrpcSite(tools, directory);
	if (peer === 'nats') return openNatsSite();
	if (peer === 'kafka') return openKafkaSite(pathOf(programs.kafka), directory);
	if (peer === 'dapr') return openDaprSite(pathOf(programs.dapr), directory);
	return openSpockSite(tools, directory, peer === 'stored' ? await startBroker() : undefined);
}

function pathOf(program: Tool): string {
	if ('missing' in program) throw new Error(program.missing);
	return program.path;
}

async function openSpockSite(tools: OwnTools, directory: string, nats: RealNats | undefined): Promise<Site> {
	const settings = nats === undefined ? [] : ['--events-store', 'jetstream', '--events-nats-servers', addressOf(nats)];
	const log = join(directory, 'log');
	const socket = join(directory, 'sidecar.sock');
	const start = (): ServerProcess => startSidecar(tools, { log, socket, settings });
	let sidecar = start();
	return {
		address: socket,
		kill: async (target) => {
			if (target === 'broker' && nats !== undefined) return restartBroker(nats);
			await killServer(sidecar);
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

async function openGrpcSite(tools: OwnTools, directory: string): Promise<Site> {
	const place: StorePlace = { kind: 'grpc', directory, port: await freePort() };
	const start = (): Promise<ServerProcess> =>
		startAnnouncedServer([tools.node, tools.entry('events-store'), JSON.stringify(place)]);
	let server = await start();
	return {
		address: `127.0.0.1:${place.port}`,
		kill: async () => {
			await killServer(server);
			server = await start();
		},
		read: async () => numbersIn((await readFile(join(directory, GRPC_FILE), 'utf8')).split('\n')),
		close: () => server.close(),
	};
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
