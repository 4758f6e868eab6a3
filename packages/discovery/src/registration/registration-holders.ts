import type { RegistrationReply } from '@spock/protocol';

import type { RegistrationHolder } from './registration-context.ts';

/** Who holds one registration, and by how many claims that were not given up. */
export class RegistrationHolders {
	readonly #held = new Map<RegistrationHolder, { claims: number }>();

	get size(): number {
		return this.#held.size;
	}

	has(holder: RegistrationHolder): boolean {
		return this.#held.has(holder);
	}

	/** One more claim of this holder. Gives what is to be called when it is given up; `last` is called with its last one. */
	add(holder: RegistrationHolder, last: () => void): () => void {
		const held = this.#held.get(holder) ?? { claims: 0 };
		this.#held.set(holder, held);
		held.claims++;
		return () => {
			held.claims--;
			// It may have been let go since, and have come again.
			if (held.claims === 0 && this.#held.get(holder) === held) last();
		};
	}

	/** However many claims it has. False if it has none. */
	delete(holder: RegistrationHolder): boolean {
		return this.#held.delete(holder);
	}

	clear(): void {
		this.#held.clear();
	}

	/** Tells each of them how it is. */
	tell(reply: RegistrationReply): void {
		for (const holder of this.#held.keys()) holder.told(reply);
	}
}
