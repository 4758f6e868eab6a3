/** What ends when its client, or its configuration, does. */
export interface Endable {
	end(): void;
}

/** Things that are open and end together. */
export class Scope<M extends Endable = Endable> {
	readonly #members = new Set<M>();
	#isOpen = true;

	/** False once it has ended: nothing may be opened in it any more. */
	get isOpen(): boolean {
		return this.#isOpen;
	}

	add(member: M): void {
		this.#members.add(member);
	}

	/** A member says this when it ends by itself. */
	delete(member: M): void {
		this.#members.delete(member);
	}

	/** True until the member has ended. */
	has(member: M): boolean {
		return this.#members.has(member);
	}

	/** A copy: members may end while one goes through it. */
	members(): readonly M[] {
		return [...this.#members];
	}

	/** Ends every member; idempotent. */
	end(): void {
		this.#isOpen = false;
		for (const member of this.members()) member.end();
	}
}
