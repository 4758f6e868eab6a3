import { once } from 'node:events';
import { connect as connectSocket, createServer, type Server, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';

import { connect } from '@spock/client';

import { answerCommands } from './answer-commands.ts';

/** What {@link probeScaleWatchers} is given. */
export interface ScaleWatchersSettings {
	readonly path: string;
	/** The same sidecar with TLS at 127.0.0.1: then all watch there. */
	readonly tls?: { readonly port: number; readonly ca: string };
	readonly service: string;
	/** Besides the client that they are copies of. */
	readonly watchers: number;
	/** Where this process may listen. */
	readonly relay: string;
}

/** `seen` waits until the client has an instance with this port, then is answered with what has come to each since the start. */
export type ScaleWatchersCommand =
	| { readonly kind: 'seen'; readonly port: number; readonly timeoutMs: number }
	| { readonly kind: 'count' };

/** Bytes from the sidecar so far. */
export interface WatchedBytes {
	readonly isSeen: boolean;
	/** To the client of this build, after its first snapshot, and with it. */
	readonly clientBytes: number;
	readonly firstBytes: number;
	/** To all copies of it. */
	readonly copyBytes: number;
	/** Copies whose connection the sidecar has closed. */
	readonly closed: number;
	/** What the client names in hello. */
	readonly features: readonly string[];
}

/** So late that no ping is among the bytes. */
const HEARTBEAT_MS = 3_600_000;
/** A copy has its first snapshot, too, when it has about as many bytes: ages and the like differ in length. */
const FIRST_PART = 0.95;

/**
 * A client that watches one service, behind a relay that counts its bytes, and copies of it: connections that say, byte by byte, what
 * the client said, and read what comes without looking at it.
 */
export async function probeScaleWatchers([settings = '{}']: readonly string[]): Promise<void> {
	const { path, tls, service, watchers, relay: relayPath } = JSON.parse(settings) as ScaleWatchersSettings;
	// The relay takes one connection: the sidecar must be there.
	await (await connect({ path, readyTimeoutMs: 60_000 })).close();
	const open = (): Socket =>
		tls === undefined ? connectSocket(path) : connectTls({ ...tls, host: '127.0.0.1' }).setNoDelay(true);
	const relay = await Relay.open(relayPath, open);
	const ports = new Set<number>();
	let seen: () => void = () => undefined;
	const diplomat = await connect({ path: relayPath, heartbeatMs: HEARTBEAT_MS, readyTimeoutMs: 60_000 });
	await diplomat.getInstances(service);
	diplomat.observeService(service, {
		next: ({ instances }) => {
			for (const { port } of instances) ports.add(port);
			seen();
		},
	});
	const firstBytes = relay.bytes;
	const hello = relay.said;
	let copyBytes = 0;
	let closed = 0;
	for (let index = 0; index < watchers; index++) {
		const copy = open();
		copy.write(hello);
		await new Promise<void>((resolve, reject) => {
			copy.once('error', reject);
			copy.once('close', () => {
				closed++;
				reject(new Error('the sidecar closed a copy of the client'));
			});
			let bytes = 0;
			copy.on('data', (chunk) => {
				copyBytes += chunk.length;
				bytes += chunk.length;
				if (bytes >= firstBytes * FIRST_PART) resolve();
			});
		});
	}
	const report = (isSeen: boolean): WatchedBytes => ({
		isSeen,
		firstBytes,
		clientBytes: relay.bytes - firstBytes,
		copyBytes,
		closed,
		features: featuresIn(hello),
	});
	await answerCommands<ScaleWatchersCommand>(async (command) => {
		if (command.kind === 'count') return report(true);
		const { port, timeoutMs } = command;
		const isSeen = await new Promise<boolean>((resolve) => {
			const timer = setTimeout(() => resolve(false), timeoutMs);
			seen = () => {
				if (!ports.has(port)) return;
				clearTimeout(timer);
				resolve(true);
			};
			seen();
		});
		return report(isSeen);
	});
}

/** Passes one connection on, and keeps what the client said until it had its first snapshot. */
class Relay {
	/** From the sidecar. */
	bytes = 0;
	readonly #said: Buffer[] = [];
	readonly #server: Server;

	private constructor(server: Server) {
		this.#server = server;
	}

	static async open(path: string, target: () => Socket): Promise<Relay> {
		const server = createServer();
		const relay = new Relay(server);
		server.on('connection', (client: Socket) => relay.#pass(client, target()));
		server.listen(path);
		await once(server, 'listening');
		return relay;
	}

	get said(): Buffer {
		return Buffer.concat(this.#said);
	}

	#pass(client: Socket, sidecar: Socket): void {
		// One client: a copy of a second connection would be none of the first.
		this.#server.close();
		client.on('data', (chunk: Buffer) => {
			this.#said.push(chunk);
			sidecar.write(chunk);
		});
		sidecar.on('data', (chunk: Buffer) => {
			this.bytes += chunk.length;
			client.write(chunk);
		});
		client.on('close', () => sidecar.destroy());
		sidecar.on('close', () => client.destroy());
	}
}

/** Of the first line, which is a hello. */
function featuresIn(said: Buffer): readonly string[] {
	const [line = '{}'] = said.toString('utf8').split('\n', 1);
	const { data } = JSON.parse(line) as { readonly data?: { readonly features?: readonly string[] } };
	return data?.features ?? [];
}
