import {
	type KeyQuery,
	normaliseKeyQuery,
	normaliseQuery,
	type ServiceQuery,
	SpockError,
	type TakeOverReply,
} from '@spock/protocol';
import type { Clock, TimerHandle } from '@spock/protocol/internal';

import type { Caller } from '../connection/answer.ts';
import type { SidecarSource } from '../foundation/sidecar-source.ts';
import type { PublicPlace } from '../listen/listener.ts';

/** Most bytes of questions that a successor is told of. */
const QUESTIONS_BYTES_MAX = 524_288;

/** What the frame of a reply has besides the questions, at most. */
const REPLY_FRAME_BYTES = 128;

/**
 * When the place is looked at after a successor has gone, in milliseconds after the look before: the kernel may close its connection some time
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
	/** Those besides, which a successor need not take. */
	otherPlaces(): readonly PublicPlace[];
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
	/** Any client may say that it begins: which of them is a successor shows at the path. */
	readonly #callers = new Set<Caller>();
	#looks = 0;
	#timer: TimerHandle | undefined;
	#isLooking = false;

	constructor(port: HandOverPort) {
		this.#port = port;
	}

	/** Somebody is about to take the place. Throws UNAVAILABLE when there is nothing to take any more. */
	begin(caller: Caller): void {
		if (!this.#port.isServing()) throw new SpockError('UNAVAILABLE', 'this sidecar is not serving: it ends, or begins');
		this.#callers.add(caller);
	}

	/** What a successor should ask before it takes the place: as much as a frame of this length tells. */
	questions(frameBytesMax: number): TakeOverReply {
		const { services, keys } = this.#port.questions();
		let left = Math.min(QUESTIONS_BYTES_MAX, frameBytesMax - REPLY_FRAME_BYTES);
		const fits = (question: ServiceQuery | KeyQuery): boolean => {
			left -= Buffer.byteLength(JSON.stringify(question)) + 1;
			return left >= 0;
		};
		return { services: services.filter(fits), keys: keys.filter(fits) };
	}

	/** Somebody says that another sidecar stands at every path. Rejects with BAD_REQUEST, and nothing has changed, if it does not. */
	async finish(): Promise<null> {
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
		this.#callers.clear();
		if (this.#port.isServing()) this.#port.leave();
		return null;
	}

	/** A connection is gone. A successor that dies half-way may have left its own dead socket at the path. */
	left(connection: Caller): void {
		if (!this.#callers.delete(connection)) return;
		// One schedule at a time, from its beginning: two looks at once would take each other's sockets for somebody else's.
		this.#looks = 0;
		if (!this.#isLooking) this.#lookAgain();
	}

	#lookAgain(): void {
		this.#port.clock.clearTimeout(this.#timer);
		const delayMs = RESTORE_AFTER_MS[this.#looks++];
		if (delayMs === undefined) return;
		this.#timer = this.#port.clock.setTimeout(() => void this.#restore(), delayMs);
		this.#timer.unref?.();
	}

	async #restore(): Promise<void> {
		if (!this.#port.isServing()) return;
		this.#isLooking = true;
		const failed = (error: unknown): void => this.#port.failed(error);
		const places = [...this.#port.places(), ...this.#port.otherPlaces()];
		await Promise.all(places.map((place) => place.restore().catch(failed)));
		this.#isLooking = false;
		this.#lookAgain();
	}
}

/** What is worth asking again elsewhere: every question that has an answer. */
export function questionsOf(source: SidecarSource): { services: ServiceQuery[]; keys: KeyQuery[] } {
	const services = source.watches().filter(({ state }) => state !== 'cold');
	const keys = (source.keyWatches?.() ?? []).filter(({ state }) => state !== 'cold');
	return { services: services.map(normaliseQuery), keys: keys.map(normaliseKeyQuery) };
}
