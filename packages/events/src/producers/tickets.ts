import { createHash, randomBytes } from 'node:crypto';

/** Of a ticket; in base64url that is 32 characters. */
const TICKET_BYTES = 24;
/** A ticket that was never given is not hashed at length. */
const TICKET_LENGTH_MAX = 64;

/** Makes the bytes of a ticket; they must not be predictable. */
export type TicketBytes = (count: number) => Uint8Array;

/**
 * What lets a connection carry the events of a producer: each is good once. They are looked up by their hash, so that the time that
 * a comparison takes says nothing of a ticket.
 */
export class Tickets<Holder> {
	readonly #bytes: TicketBytes;
	readonly #holders = new Map<string, Holder>();

	constructor(bytes: TicketBytes = randomBytes) {
		this.#bytes = bytes;
	}

	get size(): number {
		return this.#holders.size;
	}

	give(holder: Holder): string {
		const ticket = Buffer.from(this.#bytes(TICKET_BYTES)).toString('base64url');
		this.#holders.set(hashOf(ticket), holder);
		return ticket;
	}

	/** Who was given it; from then on it is void. */
	take(ticket: string): Holder | undefined {
		if (ticket.length > TICKET_LENGTH_MAX) return undefined;
		const hash = hashOf(ticket);
		const holder = this.#holders.get(hash);
		this.#holders.delete(hash);
		return holder;
	}

	/** Its call line has ended. */
	void(ticket: string): void {
		this.#holders.delete(hashOf(ticket));
	}
}

function hashOf(ticket: string): string {
	return createHash('sha256').update(ticket).digest('base64');
}
