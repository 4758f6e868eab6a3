import { createHash } from 'node:crypto';

import type { ClientStatus, HelloData } from '@spock/protocol';

import type { ConnectionFacts } from './connection-facts.ts';
import type { SnapshotReading } from './snapshot-text.ts';

/** What the client of one connection has said of itself in hello; before that, what is assumed of it. */
export class ClientHello {
	/** The same for all connections of one client: by its secret, which is not stored. */
	identity: string | undefined = undefined;
	/** How it reads snapshots, and its longest frame. */
	reading: SnapshotReading;
	readonly #connection: number;
	readonly #frameBytesMax: number;
	#data: Omit<HelloData, 'secret' | 'versions'> | undefined;

	/** `frameBytesMax` is the sidecar's own limit. */
	constructor(connection: number, frameBytesMax: number) {
		this.#connection = connection;
		this.#frameBytesMax = frameBytesMax;
		this.reading = { frameBytesMax, deltas: false, parts: false, lists: false };
	}

	/** It says hello, perhaps not for the first time. */
	accept({ secret, versions: _, ...data }: HelloData): void {
		this.#data = data;
		// One connection is one client, whatever it sends later.
		this.identity ??= secret && createHash('sha256').update(secret).digest('base64url');
		const frameBytesMax = Math.min(this.#frameBytesMax, data.frameBytesMax ?? this.#frameBytesMax);
		const [deltas, parts, lists] = [this.knows('deltas'), this.knows('parts'), this.knows('lists')];
		this.reading = { frameBytesMax, deltas, parts, lists };
	}

	/** True if it understands this optional part of the protocol. */
	knows(feature: string): boolean {
		return this.#data?.features?.includes(feature) === true;
	}

	/** True for a sidecar, which asks this one. */
	get isSidecar(): boolean {
		return this.#data?.sidecar !== undefined;
	}

	/** Name and process of this client. */
	who(): ClientStatus {
		const { client = null, pid = null } = this.#data ?? {};
		return { connection: this.#connection, client, pid };
	}

	facts(): Pick<ConnectionFacts, 'client' | 'library' | 'pid'> {
		const { client = null, library = null, pid = null } = this.#data ?? {};
		return { client, library, pid };
	}
}
