import { type KeyQuery, type ServiceQuery, SpockError, type TakeOverReply } from '@spock/protocol';
import type { Clock } from '@spock/protocol/internal';

import type { Caller } from '../server/answer.ts';
import type { PublicPlace } from '../server/listener.ts';

/** Most text of questions that a successor is told of: with its frame, well below a frame's limit. */
const QUESTIONS_LENGTH_MAX = 524_288;

/**
 * When the place is looked at after a successor has gone, in milliseconds: the kernel may close its connection some time
 * before the socket that it listened on, which until then looks alive.
 */
const RESTORE_AFTER_MS = [0, 100, 1000, 10_000];

/** What a hand-over acts on. */
export interface HandOverPort {
	readonly clock: Clock;
	/** False before it serves and once it is leaving. */
	isServing(): boolean;
	/** The names that it can be reached by, of its unix domain sockets. */
	places(): readonly PublicPlace[];
	/** Every question that has an answer. */
	questions(): { readonly services: readonly ServiceQuery[]; readonly keys: readonly KeyQuery[] };
	/** Somebody else has the place: sends the clients there, and leaves when they have gone. */
	leave(): void;
	/** The place could not be taken back from a successor that has died. */
	failed(error: unknown): void;
}

/**
 * The end of a sidecar whose place another one takes. Whoever may connect may say that it takes over; what is believed is
 * what stands at the path, which only those can change who may write to its directory. A client can therefore not make a
 * sidecar leave.
 */
export class HandOver {
	readonly #port: HandOverPort;
	#successor: Caller | undefined;

	constructor(port: HandOverPort) {
		this.#port = port;
	}

	/** Somebody is about to take the place. Throws UNAVAILABLE when there is nothing to take any more. */
	begin(caller: Caller): TakeOverReply {
		if (!this.#port.isServing()) throw new SpockError('UNAVAILABLE', 'this sidecar is not serving: it ends, or begins');
		this.#successor = caller;
		const { services, keys } = this.#port.questions();
		let left = QUESTIONS_LENGTH_MAX;
		const fits = (question: ServiceQuery | KeyQuery): boolean => {
			left -= JSON.stringify(question).length + 1;
			return left >= 0;
		};
		return { services: services.filter(fits), keys: keys.filter(fits) };
	}

	/** The successor says that it stands at every path. Rejects with BAD_REQUEST, and nothing has changed, if it does not. */
	async finish(caller: Caller): Promise<null> {
		if (this.#successor !== caller) throw new SpockError('BAD_REQUEST', 'begin to take over on this connection first');
		const places = this.#port.places();
		if (places.length === 0) {
			throw new SpockError('BAD_REQUEST', 'this sidecar listens at no path, and only a path can be taken over');
		}
		const replaced = await Promise.all(places.map((place) => place.isReplaced()));
		if (replaced.includes(false)) {
			throw new SpockError(
				'BAD_REQUEST',
				'the socket of this sidecar still stands at its path: nobody has taken it over',
			);
		}
		this.#successor = undefined;
		if (this.#port.isServing()) this.#port.leave();
		return null;
	}

	/** A connection is gone. A successor that dies half-way may have left its own dead socket at the path. */
	left(connection: Caller): void {
		if (this.#successor !== connection) return;
		this.#successor = undefined;
		for (const delayMs of RESTORE_AFTER_MS) {
			this.#port.clock.setTimeout(() => this.#restore(), delayMs).unref?.();
		}
	}

	#restore(): void {
		// The next successor may be at work, or done.
		if (this.#successor !== undefined || !this.#port.isServing()) return;
		for (const place of this.#port.places()) place.restore().catch((error: unknown) => this.#port.failed(error));
	}
}
