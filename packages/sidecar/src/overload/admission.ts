/** Of all connections, as many are kept for clients that come by a unix domain socket, where there is one. */
const LOCAL_SHARE = 0.1;

/** What an {@link Admission} goes by. */
export interface AdmissionOptions {
	readonly connectionsMax: number;
	/** Whether any client can come by a unix domain socket. */
	readonly hasLocal: boolean;
}

/**
 * How many may be connected, of all protocols together. Whoever comes by the network and has not shown a token that is wanted
 * is not counted here: strangers have a budget of their own.
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

	/** Counts one more; false where there is no room for it. */
	enter(isLocal: boolean): boolean {
		if (this.#all >= this.#connectionsMax || (!isLocal && this.#remote >= this.#remoteMax)) return false;
		this.#all++;
		if (!isLocal) this.#remote++;
		return true;
	}

	/** One that was counted is gone. */
	leave(isLocal: boolean): void {
		this.#all--;
		if (!isLocal) this.#remote--;
	}
}

/**
 * Those who have come by the network and not shown a token yet, of all protocols together, and those that still shake hands. The
 * one that has been silent for longest makes room: who has a token shows it at once.
 */
export class Strangers {
	readonly countMax: number;
	readonly #evicted: () => void;
	/** Each with how it is sent away. */
	readonly #strangers = new Map<object, () => void>();

	/** `evicted` is told of each that had to make room. */
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

	/** True if it was one. */
	delete(stranger: object): boolean {
		return this.#strangers.delete(stranger);
	}
}
