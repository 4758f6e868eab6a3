import type { Duplex } from 'node:stream';

import { BytePipe, type LinkQuality } from './byte-pipe.ts';
import type { Cable } from './cable.ts';
import { faultyLines } from './faulty-lines.ts';
import type { Injection } from './injection.ts';
import type { Scheduler } from './scheduler.ts';
import type { SeededRandom } from './seeded-random.ts';
import type { SimProcess } from './sim-process.ts';
import { SimSocket } from './sim-socket.ts';
import { systemError } from './system-error.ts';

/** Told of one connection, from its first byte to its end. */
export interface ConnectionTap {
	clientWrote(bytes: Buffer): void;
	sidecarWrote(bytes: Buffer): void;
	clientTook(bytes: Buffer): void;
	/** The client has let go of it. */
	ended(): void;
}

/** Whoever listens at an address. */
export interface SimListener {
	readonly owner: SimProcess;
	readonly accept: (socket: Duplex) => void;
}

/** A connection that both sides have. */
interface SimConnection {
	readonly address: string;
	readonly client: SimSocket;
	readonly server: SimSocket;
	readonly toServer: BytePipe;
	readonly toClient: BytePipe;
}

/** What the network does to whom it carries; the world changes it. */
export interface NetworkFaults {
	/** Share of the attempts to connect that meet a full backlog. */
	eagainChance: number;
	/** Share of the attempts that are refused although somebody listens. */
	refuseChance: number;
}

/** Sockets between the processes of one world. */
export class SimNetwork {
	readonly faults: NetworkFaults = { eagainChance: 0, refuseChance: 0 };
	/** One for each address. */
	readonly #qualities = new Map<string, LinkQuality>();
	readonly #scheduler: Scheduler;
	readonly #random: SeededRandom;
	readonly #tap: (client: SimProcess, server: SimProcess) => ConnectionTap;
	readonly #injection: Injection;
	readonly #listeners = new Map<string, SimListener>();
	/** Those that accept, also where another has taken their address. */
	readonly #open = new Set<SimListener>();
	readonly #bound = new Set<string>();
	readonly #connections = new Set<SimConnection>();
	readonly #sockets = new Set<SimSocket>();
	/** How long bytes were on their way and unread at most, in milliseconds. */
	longestTransitMs = 0;
	connects = 0;

	constructor(
		scheduler: Scheduler,
		random: SeededRandom,
		tap: (client: SimProcess, server: SimProcess) => ConnectionTap,
		injection: Injection = {},
	) {
		this.#scheduler = scheduler;
		this.#random = random;
		this.#tap = tap;
		this.#injection = injection;
	}

	/** Sockets that a process still holds. */
	get openSockets(): number {
		return this.#sockets.size;
	}

	get connections(): number {
		return this.#connections.size;
	}

	quality(address: string): LinkQuality {
		let quality = this.#qualities.get(address);
		if (quality === undefined) {
			quality = { latencyMsMin: 0.02, latencyMsMax: 0.4, splitChance: 0.1, isHeld: false, isDark: false };
			this.#qualities.set(address, quality);
		}
		return quality;
	}

	/** Whoever listened there before keeps what it has accepted. Gives a function that ends it. */
	listen(address: string, listener: SimListener): () => void {
		this.#listeners.set(address, listener);
		this.#open.add(listener);
		this.#bound.add(address);
		const forget = listener.owner.atExit(() => close());
		const close = (): void => {
			forget();
			this.#open.delete(listener);
			if (this.#listeners.get(address) === listener) this.#listeners.delete(address);
		};
		// A socket file outlives a process that was killed, and a closed listener takes it away: both are met.
		return () => {
			if (this.#listeners.get(address) === listener) this.#bound.delete(address);
			close();
		};
	}

	/** Opens a connection: at once, and it is there or fails later. `cable`: of another machine, so that it goes over TCP. */
	connect(owner: SimProcess, address: string, receive: (chunk: Buffer) => void, cable?: Cable): Duplex {
		const { clientReads, losesEnds } = this.#injection;
		const socket: SimSocket = new SimSocket(owner, {
			allowHalfOpen: false,
			receive,
			reads: clientReads && faultyLines(clientReads()),
			losesEnd: losesEnds,
			gone: () => this.#sockets.delete(socket),
		});
		this.#sockets.add(socket);
		this.connects++;
		const { latencyMsMin, latencyMsMax } = cable?.quality ?? this.quality(address);
		const delayMs = latencyMsMin + this.#random.unit() * (latencyMsMax - latencyMsMin);
		owner.schedule(delayMs, 'connect', () => this.#connected(socket, address, cable));
		return socket;
	}

	/** Cuts a share of the connections of an address. Gives how many. */
	cut(address: string, chance: number): number {
		let count = 0;
		for (const connection of [...this.#connections]) {
			if (connection.address !== address || !this.#random.chance(chance)) continue;
			connection.toClient.cut();
			connection.toServer.cut();
			this.#connections.delete(connection);
			count++;
		}
		return count;
	}

	/** Ends one direction of a share of the connections of an address. Gives how many. */
	halfClose(address: string, chance: number): number {
		let count = 0;
		for (const { address: at, toClient, toServer } of this.#connections) {
			if (at !== address || !this.#random.chance(chance)) continue;
			(this.#random.chance(0.5) ? toClient : toServer).shut();
			count++;
		}
		return count;
	}

	#connected(client: SimSocket, address: string, cable: Cable | undefined): void {
		if (client.destroyed) return;
		if (cable?.isCut === true) {
			cable.whenMended(() => this.#connected(client, address, cable));
			return;
		}
		const listener = this.#listeners.get(address);
		if (listener === undefined || this.#random.chance(this.faults.refuseChance)) {
			client.destroy(systemError(this.#bound.has(address) ? 'ECONNREFUSED' : 'ENOENT', 'connect'));
			return;
		}
		if (this.#random.chance(this.faults.eagainChance)) {
			client.destroy(systemError('EAGAIN', 'connect'));
			return;
		}
		const { owner, accept } = listener;
		const tap = this.#tap(client.owner, owner);
		const { sidecarReads, sidecarWrites } = this.#injection;
		const server: SimSocket = new SimSocket(owner, {
			allowHalfOpen: true,
			reads: sidecarReads && faultyLines(sidecarReads()),
			writes: sidecarWrites && faultyLines(sidecarWrites()),
			gone: () => {
				this.#sockets.delete(server);
				this.#connections.delete(connection);
			},
		});
		if (cable !== undefined) Object.assign(server, { remoteAddress: cable.address });
		this.#sockets.add(server);
		const [toServer, toClient] = [this.#pipe(address, cable), this.#pipe(address, cable)];
		const connection: SimConnection = { address, client, server, toServer, toClient };
		this.#connections.add(connection);
		toServer.reader = server;
		client.connected({
			incoming: toClient,
			outgoing: toServer,
			written: (bytes) => tap.clientWrote(bytes),
			taken: (bytes) => tap.clientTook(bytes),
			gone: () => tap.ended(),
		});
		owner.schedule(this.#random.unit(), 'accept', () => {
			const written = (bytes: Buffer): void => tap.sidecarWrote(bytes);
			const ends = { incoming: toServer, outgoing: toClient, written, taken: () => undefined, gone: () => undefined };
			// Nobody takes it any more: the kernel ends what waits in the backlog of a listener that closes.
			if (this.#open.has(listener)) {
				server.connected(ends);
				accept(server);
			} else server.refused(ends);
		});
	}

	#pipe(address: string, cable: Cable | undefined): BytePipe {
		const capacity = this.#random.pick([4096, 32_768, 212_992]);
		const quality = cable?.quality ?? this.quality(address);
		const pipe = new BytePipe(this.#scheduler, this.#random, quality, capacity, (ms) => {
			if (ms > this.longestTransitMs) this.longestTransitMs = ms;
		});
		cable?.carry(pipe);
		return pipe;
	}
}
