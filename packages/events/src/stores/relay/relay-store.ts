import { createHash } from 'node:crypto';

import { SpockError, STREAM_NAME_LENGTH_MAX } from '@spock/protocol';
import { formatAddress, packings } from '@spock/protocol/node';

import type { EventStore, StoreReader } from '../../foundation/event-store.ts';
import type { LogEvent } from '../../foundation/log-record.ts';
import { orUnavailable } from '../../foundation/unavailable.ts';
import { RelayFeed } from './relay-feed.ts';
import { RelayLink } from './relay-link.ts';
import type { SidecarAccess } from './sidecar-connection.ts';

const DEFAULT_TIMEOUT_MS = 10_000;
const DEFAULT_STALL_MS = 30_000;

export interface RelayOptions {
	/** The next sidecar, which takes events; asked for each link, as a registry may move it, or a token may be exchanged. */
	readonly access: () => Promise<SidecarAccess>;
	/** Unique among all logs that are relayed there, as a part of the names of producers: letters, digits, `_`, `.` and `-`. */
	readonly owner: string;
	/** Of a connection with its hello, and of each question, in milliseconds. Default 10000. */
	readonly timeoutMs?: number;
	/** A link over which nothing was persisted for so long, although events wait, is given up, in milliseconds. Default 30000. */
	readonly stallMs?: number;
	/** Packs events on their way where the next sidecar can unpack them: with zstd where both have it, else with deflate. Default true. */
	readonly packs?: boolean;
}

/**
 * The log of another sidecar: each event is there once, in the order of its stream, whatever ends which of the two at which moment. Two
 * connections for each stream that has events. It cannot be read from here.
 */
export class RelayStore implements EventStore {
	readonly name = 'relay';
	readonly #options: RelayOptions;
	readonly #feeds = new Map<string, RelayFeed>();
	/** Where the last link goes to. */
	#address: string | undefined;

	constructor(options: RelayOptions) {
		this.#options = options;
	}

	async append(stream: string, events: readonly LogEvent[], stored: (position: number) => void): Promise<void> {
		if (events.length > 0) await this.#feed(stream).append(events, stored);
	}

	lastOf(stream: string): Promise<number> {
		return this.#feed(stream).lastOf();
	}

	async holds(stream: string, position: number): Promise<boolean> {
		return (await this.#feed(stream).ask()) >= position;
	}

	async reader(stream: string): Promise<StoreReader> {
		const message = `stream "${stream}" goes to another sidecar, and cannot be consumed here: consume it there`;
		throw new SpockError('BAD_REQUEST', message);
	}

	async deleteGroup(stream: string, group: string): Promise<void> {
		const message = `unknown group "${group}" of stream "${stream}", which goes to another sidecar: delete it there`;
		throw new SpockError('BAD_REQUEST', message);
	}

	/** Its connections are closed. */
	leave(stream: string): void {
		this.#feeds.get(stream)?.close();
		this.#feeds.delete(stream);
	}

	/** Tells where the next sidecar may be now, as host:port. A link to one that has left is given up, and the next one goes elsewhere. */
	addressesChanged(addresses: readonly string[]): void {
		// Where none is known the registry may be wrong, and this one still answers.
		if (this.#address === undefined || addresses.length === 0 || addresses.includes(this.#address)) return;
		const error = new SpockError('UNAVAILABLE', `the sidecar at ${this.#address} has left; trying another`);
		this.#address = undefined;
		for (const feed of this.#feeds.values()) feed.leave(error);
	}

	async close(): Promise<void> {
		for (const feed of this.#feeds.values()) feed.close();
	}

	#feed(stream: string): RelayFeed {
		let feed = this.#feeds.get(stream);
		if (feed === undefined) {
			const { access, owner, timeoutMs = DEFAULT_TIMEOUT_MS, stallMs = DEFAULT_STALL_MS, packs = true } = this.#options;
			const producer = producerOf(owner, stream);
			feed = new RelayFeed({
				stallMs,
				open: async (listener) => {
					const given = await orUnavailable(access);
					this.#address = formatAddress(given);
					return RelayLink.open({ access: given, producer, timeoutMs, packings: packs ? packings() : [] }, listener);
				},
			});
			this.#feeds.set(stream, feed);
		}
		return feed;
	}
}

/** The name of the producer at the next sidecar. */
function producerOf(owner: string, stream: string): string {
	const name = `${owner}.${stream}`;
	if (name.length <= STREAM_NAME_LENGTH_MAX) return name;
	return `${owner}.${createHash('sha256').update(stream).digest('base64url')}`;
}
