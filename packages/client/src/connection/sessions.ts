import type { Session } from './session.ts';

/** What was in place of a session that has closed. */
export type SessionPlace = 'current' | 'dialled' | undefined;

/** Every socket of a client that is not closed: the current one, one being dialled, and those that finish after a goaway. */
export class Sessions {
	/** New calls go here. */
	current: Session | undefined;
	/** The one whose hello is awaited. */
	dialled: Session | undefined;
	/** The one that closed last. */
	lost: Session | undefined;
	readonly #open = new Set<Session>();

	/** All of them, also when some close meanwhile. */
	get all(): Session[] {
		return [...this.#open];
	}

	get isEmpty(): boolean {
		return this.#open.size === 0;
	}

	/** True while no call is in flight, or waits for its window. */
	get isIdle(): boolean {
		for (const { channel } of this.#open) if (channel.inFlight + channel.waiting > 0) return false;
		return true;
	}

	counts(): { inFlight: number; waiting: number; window: number | null } {
		let inFlight = 0;
		let waiting = 0;
		for (const { channel } of this.#open) {
			inFlight += channel.inFlight;
			waiting += channel.waiting;
		}
		return { inFlight, waiting, window: this.current?.channel.window ?? null };
	}

	/** A new one, to be greeted. */
	dial(session: Session): void {
		this.dialled = session;
		this.#open.add(session);
	}

	/** The dialled one is the current one from now on. */
	adopt(): void {
		this.current = this.dialled;
		this.dialled = undefined;
	}

	/** The dialled one is not needed any more. */
	cancelDial(): void {
		const dialled = this.dialled;
		this.dialled = undefined;
		dialled?.destroy();
	}

	/** None of them takes new calls. */
	drain(): void {
		for (const { channel } of this.all) channel.drain();
	}

	/** Ends each socket when what it was sent has left. */
	end(): void {
		for (const session of this.all) session.end();
	}

	destroy(): void {
		for (const session of this.all) session.destroy();
	}

	/** This one is gone; returns what it was, which it stays until `lose`. */
	remove(session: Session): SessionPlace {
		this.#open.delete(session);
		if (session === this.current) return 'current';
		return session === this.dialled ? 'dialled' : undefined;
	}

	/** Its place is free from now on. */
	lose(session: Session): void {
		this.lost = session;
		if (session === this.current) this.current = undefined;
		if (session === this.dialled) this.dialled = undefined;
	}
}
