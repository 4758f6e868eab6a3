import type { RegistrationReply } from '@spock/protocol';

/** Whoever registered: a connection of an app, or the app itself. */
export interface RegistrationHolder {
	/** The same for every connection of one client, and of no other one; undefined for a client that says none. */
	readonly identity?: string | undefined;
	/** Of two connections of one client the newer has the larger: what the older says after it is late. Default: none is late. */
	readonly id?: number;
	/** Told whenever a registration that it holds changes. Must not throw. */
	told(registration: RegistrationReply): void;
}

/**
 * Whose word on a definition counts: the client that registered it first. It is known by its connection, or by its identity
 * when it comes back. One that does not come back within the grace owns nothing any more.
 */
export class RegistrationOwner {
	readonly #graceMs: number;
	#holder: RegistrationHolder | undefined;
	#identity: string | undefined;
	#leftAtMs: number | undefined;

	constructor(graceMs: number) {
		this.#graceMs = graceMs;
	}

	/** What a later process can know it by. */
	get identity(): string | undefined {
		return this.#identity;
	}

	is(holder: RegistrationHolder): boolean {
		return this.#holder === holder || (this.#identity !== undefined && this.#identity === holder.identity);
	}

	/** True while there is one: connected, or away for less than the grace. */
	isThere(nowMs: number): boolean {
		if (this.#leftAtMs !== undefined && nowMs - this.#leftAtMs >= this.#graceMs) this.clear();
		return this.#holder !== undefined || this.#identity !== undefined;
	}

	set(holder: RegistrationHolder): void {
		this.#holder = holder;
		this.#identity = holder.identity;
		this.#leftAtMs = undefined;
	}

	/** Its connection is gone. Without an identity nobody could know it again. */
	left(holder: RegistrationHolder, nowMs: number): void {
		if (this.#holder === holder) this.found(this.#identity, nowMs);
	}

	/** It was there before this process. */
	found(identity: string | undefined, nowMs: number): void {
		this.#holder = undefined;
		this.#identity = identity;
		this.#leftAtMs = nowMs;
	}

	clear(): void {
		this.#holder = undefined;
		this.#identity = undefined;
		this.#leftAtMs = undefined;
	}
}
