/** Connections reserved for clients at a unix domain socket, if there is one. */
const LOCAL_SHARE = 0.1;

/** What an {@link Admission} needs. */
export interface AdmissionOptions {
	readonly connectionsMax: number;
	/** Whether any client can connect by a unix domain socket. */
	readonly hasLocal: boolean;
}

/**
 * How many clients may be connected, of all protocols together. A network client that has not sent a required token is not counted
 * here: such strangers have a budget of their own.
 */
export class Admission {
	readonly #connectionsMax: number;
	readonly #remoteMax: number;
	#all = 0;
	#remote = 0;

	constructor({ connectionsMax, hasLocal }: AdmissionOptions) {
		this.#connectionsMax = connectionsMax;
		this.#remoteMax = connectionsMax - (hasLocal ? Math.floor(connectionsMax * LOCAL_SHARE) : 0);
	}

	/** Counts one more; returns false if there is no room for it. */
	enter(isLocal: boolean): boolean {
		if (this.#all >= this.#connectionsMax || (!isLocal && this.#remote >= this.#remoteMax)) return false;
		this.#all++;
		if (!isLocal) this.#remote++;
		return true;
	}

	/** A counted connection is gone. */
	leave(isLocal: boolean): void {
		this.#all--;
		if (!isLocal) this.#remote--;
	}
}

/**
 * Network clients of all protocols that have not sent a token yet, or are still in the TLS handshake. The one that has been silent for
 * longest is evicted to make room, because a client with a token sends it at once.
 */
export class Strangers {
	readonly countMax: number;
	readonly #evicted: () => void;
	/** Each with the function that closes it. */
	readonly #strangers = new Map<object, () => void>();

	/** Calls `evicted` for each that was closed to make room. */
	constructor(countMax: number, evicted: () => void) {
		this.countMax = countMax;
		this.#evicted = evicted;
	}

	add(stranger: object, evict: () => void): void {
		const [oldest] = this.#strangers;
		if (this.#strangers.size >= this.countMax && oldest !== undefined) {
			this.#strangers.delete(oldest[0]);
			this.#evicted();
			oldest[1]();
		}
		this.#strangers.set(stranger, evict);
	}

	/** Returns true if it was one. */
	delete(stranger: object): boolean {
		return this.#strangers.delete(stranger);
	}
}
