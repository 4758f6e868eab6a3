import { Agent, type ClientRequestArgs } from 'node:http';
import { connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';

import type { Clock } from '@spock/protocol/internal';

import type { ConsulAddress } from './consul-address.ts';
import type { ConsulCall } from './consul-call.ts';
import { DEFAULT_HELD_MAX } from './consul-options.ts';

/** Connections from each further address: half of what an agent allows by default, because an agent may allow fewer. */
const PER_SOURCE_MAX = 100;
/** How long the first connection may take, to an agent on the same machine. */
const TRY_MS = 1000;
/** After a refusal, so much of what was open before is believed to be allowed. */
const LOWERED = 0.9;
/** Addresses of 127.0.0.0/8 that are used: not those of its first 256, which programs listen at. */
const FIRST_SOURCE = 256;
const SOURCES = 2 ** 24 - 2 * FIRST_SOURCE;

/** What is left for one more connection, where one was refused because there are too many: `elsewhere` from a further address. */
export type RoomLeft = 'elsewhere' | 'none' | 'none but the first';

/** Where an agent is reached. */
type AgentPlace = Pick<ConsulAddress, 'host' | 'port'>;

/**
 * Further addresses of this machine to connect from. An agent counts its limit of connections for each client address, and on Linux all
 * of 127.0.0.0/8 are addresses of the machine: an agent on it can be given as many connections as it takes, over plain HTTP. Whether
 * that is so is tried by a connection. The addresses are drawn anew by each process, so that those of one machine do not meet.
 * Source: https://developer.hashicorp.com/consul/docs/agent/config/config-files#http_max_conns_per_client
 */
export class FurtherSources {
	readonly #place: AgentPlace;
	readonly #clock: Clock;
	readonly #own: Agent;
	readonly #further = new SourceAgent();
	/** From so many connections on held queries go by further addresses. */
	#ownMax = DEFAULT_HELD_MAX;
	/** A connection from the machine's own address was refused. */
	#isCrowded = false;
	#isOpen: Promise<boolean | undefined> | undefined;

	/** `own` is the agent of all other calls. */
	constructor(place: AgentPlace, own: Agent, clock: Clock) {
		this.#place = place;
		this.#clock = clock;
		this.#own = own;
	}

	/** Whether the agent takes connections from further addresses; tried once, and again where it takes none at all. Never rejects. */
	async isOpen(): Promise<boolean> {
		this.#isOpen ??= this.#try();
		const isOpen = await this.#isOpen;
		if (isOpen === undefined) this.#isOpen = undefined;
		return isOpen ?? false;
	}

	/**
	 * The agent for a call; undefined where that is its own, which is so at once: a connection that is decided on must be counted before
	 * the next one is. Held queries go by further addresses, and where others use up the room of the machine's own, whatever reads: an
	 * agent may take writes from that one alone.
	 */
	agentFor(call: ConsulCall, isRead: boolean): Promise<Agent | undefined> | undefined {
		const mayGo = call.isHeld || (isRead && this.#isCrowded);
		if (!mayGo || this.#inUse() < this.#ownMax) return undefined;
		return this.isOpen().then((isOpen) => {
			call.isFurther = isOpen;
			return isOpen ? this.#further : undefined;
		});
	}

	/** A connection for this call was refused because there are too many. */
	async refused(call: ConsulCall): Promise<RoomLeft> {
		if (call.isFurther) {
			// What comes from all these addresses is one client there, as behind a NAT.
			this.#isOpen = Promise.resolve(false);
			return 'none but the first';
		}
		this.#isCrowded = true;
		this.#ownMax = Math.floor(Math.min(this.#ownMax, this.#inUse()) * LOWERED);
		return (await this.isOpen()) ? 'elsewhere' : 'none';
	}

	/** Cuts every connection from further addresses. */
	destroy(): void {
		this.#further.destroy();
	}

	#inUse(): number {
		return Object.values(this.#own.sockets).reduce((sum, sockets) => sum + (sockets?.length ?? 0), 0);
	}

	/** Undefined where the agent is away. */
	#try(): Promise<boolean | undefined> {
		return new Promise((resolve) => {
			const socket = connectFrom(this.#further.source(), this.#place);
			const end = (isTaken: boolean | undefined): void => {
				this.#clock.clearTimeout(timer);
				socket.destroy();
				resolve(isTaken);
			};
			const timer = this.#clock.setTimeout(() => end(false), TRY_MS);
			timer.unref?.();
			socket.once('connect', () => end(true));
			socket.on('error', ({ code }: NodeJS.ErrnoException) => end(code === 'ECONNREFUSED' ? undefined : false));
			socket.unref();
		});
	}
}

/** Connects from the address that has the fewest connections of those in use, or from one more. */
class SourceAgent extends Agent {
	readonly #first = Math.floor(Math.random() * SOURCES);
	/** Connections from each address. */
	readonly #counts: number[] = [];

	constructor() {
		super({ keepAlive: true });
	}

	override createConnection(options: ClientRequestArgs): Duplex {
		const found = this.#counts.findIndex((count) => count < PER_SOURCE_MAX);
		const number = found === -1 ? this.#counts.length : found;
		this.#counts[number] = (this.#counts[number] ?? 0) + 1;
		const socket = connectFrom(this.source(number), { host: options.host ?? '', port: Number(options.port) });
		socket.once('close', () => {
			this.#counts[number] = (this.#counts[number] as number) - 1;
		});
		return socket;
	}

	/** The address with this number. */
	source(number = 0): string {
		const place = FIRST_SOURCE + ((this.#first + number) % SOURCES);
		return `127.${place >> 16}.${(place >> 8) & 255}.${place & 255}`;
	}
}

function connectFrom(localAddress: string, { host, port }: AgentPlace): Socket {
	// These addresses are IPv4: a name with addresses of both kinds is reached by its IPv4 ones. IPv6 has one loopback address alone.
	return connect({ host, port, localAddress, family: 4, keepAlive: true, noDelay: true });
}
