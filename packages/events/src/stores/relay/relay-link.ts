import { type EventWindow, type HelloReply, type RefusedEvent, SpockError } from '@spock/protocol';
import { isInteger, isObject } from '@spock/protocol/internal';

import type { Packing } from '@spock/protocol/node';

import { type SidecarAccess, SidecarConnection } from './sidecar-connection.ts';

/** The epoch of every log's producers: what another process of the same log has under way are the same events, at the same positions. */
const EPOCH = 1;

/** Where the other sidecar's log is. */
export interface RelayPlace {
	/** Every event up to this position is on its disk. */
	readonly persisted: number;
	readonly window: EventWindow;
}

interface OpenedPlace extends RelayPlace {
	readonly ticket: string;
}

/** Told by a link. */
export interface LinkListener {
	/** Everything up to this position is on disk there. */
	persisted(position: number): void;
	/** The other sidecar will never take this event; nothing behind it was taken, and nothing more is by this link. */
	refused(refusal: RefusedEvent): void;
	windowed(window: EventWindow): void;
	/** More of what was written has gone. */
	drained(): void;
	/** It is gone, by no wish of this side. */
	lost(error: SpockError): void;
}

export interface LinkOptions {
	readonly access: SidecarAccess;
	/** One for each log and stream. */
	readonly producer: string;
	readonly timeoutMs: number;
	/** How events may be packed, the best first. */
	readonly packings: readonly Packing[];
}

/**
 * The way of one stream to the log of another sidecar: a producer there, with gaps, whose `seq` are the positions of this log. So what that
 * sidecar has is one number, and what is sent twice it recognises. Two connections, as any producer has.
 */
export class RelayLink {
	/** What it was opened with. */
	readonly place: RelayPlace;
	readonly #callLine: SidecarConnection;
	readonly #uplink: SidecarConnection;
	readonly #options: LinkOptions;
	readonly #listener: LinkListener;
	/** An event was refused: its uplink takes nothing more. */
	#isStopped = false;
	#isClosed = false;

	private constructor(
		place: RelayPlace,
		[callLine, uplink]: readonly [SidecarConnection, SidecarConnection],
		options: LinkOptions,
		listener: LinkListener,
	) {
		this.place = place;
		this.#callLine = callLine;
		this.#uplink = uplink;
		this.#options = options;
		this.#listener = listener;
	}

	/** Rejects with UNAVAILABLE. Before it has resolved, nothing is told. */
	static async open(given: LinkOptions, listener: LinkListener): Promise<RelayLink> {
		const { access, producer, timeoutMs, packings } = given;
		let link: RelayLink | undefined;
		let early: SpockError | undefined;
		const connections: SidecarConnection[] = [];
		const options = {
			client: `relay ${producer}`,
			timeoutMs,
			pushed: (event: string, data: unknown) => {
				if (link !== undefined) link.#pushed(event, data);
			},
		};
		const lost = (which: 'call line' | 'uplink') => (error: SpockError) => {
			early ??= error;
			if (link !== undefined) void link.#lost(which, error);
		};
		try {
			// At the same time, which saves a round trip.
			const talking = { ...options, features: ['events', 'gaps', 'goaway'], lost: lost('call line') };
			const callLine = await SidecarConnection.open(access, talking);
			connections.push(callLine);
			// What the sidecar says is little: it is the events that are packed.
			const sending = {
				...options,
				features: ['events', 'gaps', ...packings],
				drained: () => {
					if (link !== undefined && !link.#isClosed) listener.drained();
				},
				lost: lost('uplink'),
			};
			const uplink = await SidecarConnection.open(access, sending);
			connections.push(uplink);
			const [greeting, agreed] = await Promise.all([callLine.greeted, uplink.greeted]);
			requireGaps(greeting, callLine.name);
			const packing = packings.find((known) => agreed.features?.includes(known));
			if (packing !== undefined) uplink.pack(packing);
			const place = await openOn(callLine, producer);
			uplink.write(`{"func":"uplink","data":${JSON.stringify({ ticket: place.ticket })}}\n`);
			if (early !== undefined) throw early;
			link = new RelayLink(place, [callLine, uplink], given, listener);
			return link;
		} catch (error) {
			for (const connection of connections) connection.destroy();
			throw error;
		}
	}

	/**
	 * Asks where the log of the other sidecar is, by a connection of its own: on the call line it would void the ticket that the uplink may not
	 * have used yet. Rejects with UNAVAILABLE.
	 */
	async ask(): Promise<number> {
		const { access, producer, timeoutMs } = this.#options;
		const options = {
			client: `relay ${producer}`,
			timeoutMs,
			features: ['events', 'gaps'],
			pushed: ignore,
			lost: ignore,
		};
		const line = await SidecarConnection.open(access, options);
		try {
			requireGaps(await line.greeted, line.name);
			return (await openOn(line, producer)).persisted;
		} finally {
			line.destroy();
		}
	}

	/** What was written, and neither packed nor given to the kernel. */
	get backlogBytes(): number {
		return this.#uplink.backlogBytes;
	}

	/** Sends whole lines of events. */
	write(lines: string): void {
		this.#uplink.write(lines);
	}

	/** Nothing is told any more. Idempotent. */
	close(): void {
		this.#isClosed = true;
		this.#callLine.destroy();
		this.#uplink.destroy();
	}

	/** An uplink that has ended may have been closed for a refused event: what the call line says of that may come later. */
	async #lost(which: 'call line' | 'uplink', error: SpockError): Promise<void> {
		if (which === 'uplink') await this.#callLine.request('ping', null).catch(ignore);
		if (this.#isClosed || (which === 'uplink' && this.#isStopped)) return;
		this.close();
		this.#listener.lost(error);
	}

	#pushed(event: string, data: unknown): void {
		if (event === 'goaway') {
			// It would wait for this link before it ends, and the next one takes what is in flight again.
			void this.#lost('call line', new SpockError('UNAVAILABLE', `the sidecar at ${this.#callLine.name} is leaving`));
			return;
		}
		if (!isObject(data) || data['producer'] !== this.#options.producer) return;
		if (event === 'eventWindow') {
			const window = windowOf(data);
			if (window !== undefined) this.#listener.windowed(window);
		} else if (event === 'acked') {
			const { persisted, refused } = data;
			if (isInteger(persisted, 0)) this.#listener.persisted(persisted);
			const [refusal] = Array.isArray(refused) ? (refused as unknown[]) : [];
			if (!isObject(refusal) || !isInteger(refusal['seq'], 1)) return;
			this.#isStopped = true;
			this.#listener.refused(refusal as unknown as RefusedEvent);
		}
	}
}

function requireGaps({ features = [], sidecar }: Partial<HelloReply>, name: string): void {
	if (features.includes('gaps')) return;
	const hint = features.includes('events')
		? `${sidecar} knows no producers with gaps: upgrade it`
		: 'it takes no events: start it with --events DIR, or upgrade it';
	throw new SpockError('UNAVAILABLE', `the sidecar at ${name} cannot be the store of events; ${hint}`);
}

async function openOn(line: SidecarConnection, producer: string): Promise<OpenedPlace> {
	return placeOf(await line.request('openProducer', { producer, epoch: EPOCH, gaps: true }), producer, line.name);
}

function placeOf(data: unknown, producer: string, name: string): OpenedPlace {
	const { persisted, window: given, ticket } = isObject(data) ? data : {};
	const window = windowOf(given);
	if (isInteger(persisted, 0) && window !== undefined && typeof ticket === 'string')
		return { persisted, window, ticket };
	throw new SpockError('UNAVAILABLE', `the sidecar at ${name} has opened ${producer} with an answer of another shape`);
}

function windowOf(data: unknown): EventWindow | undefined {
	const { bytes, events, reason } = isObject(data) ? data : {};
	if (!isInteger(bytes, 0) || !isInteger(events, 0)) return undefined;
	return { bytes, events, ...(typeof reason === 'string' && { reason }) };
}

function ignore(): void {
	// It is told where it counts: to the listener, or by the rejection of the question.
}
