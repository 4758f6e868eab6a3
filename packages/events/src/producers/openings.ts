import { SpockError } from '@spock/protocol';

/** Producers that wait until their epoch is on disk. */
export const OPENINGS_MAX = 1024;

interface Opening {
	/** Of the note that must be on disk. */
	readonly position: number;
	readonly resolve: () => void;
	readonly reject: (error: SpockError) => void;
}

/** Producers whose epoch begins, in the order of their notes. */
export class Openings {
	readonly #openings: Opening[] = [];

	get count(): number {
		return this.#openings.length;
	}

	/** Throws OVERLOADED where one more would be too many. */
	admit(): void {
		if (this.#openings.length < OPENINGS_MAX) return;
		const message = `${OPENINGS_MAX} producers wait until they are on disk: try again later`;
		throw new SpockError('OVERLOADED', message, { details: { openingsMax: OPENINGS_MAX }, isStackless: true });
	}

	/** Resolves with what `open` gives, called in the tick in which the note is on disk. */
	wait<Opened>(position: number, open: () => Opened): Promise<Opened> {
		return new Promise((resolve, reject) => {
			const settle = (): void => {
				try {
					resolve(open());
				} catch (error) {
					reject(error);
				}
			};
			this.#openings.push({ position, resolve: settle, reject });
		});
	}

	committed(persisted: number): void {
		let count = 0;
		for (const { position } of this.#openings) {
			if (position >= persisted) break;
			count++;
		}
		if (count > 0) for (const { resolve } of this.#openings.splice(0, count)) resolve();
	}

	reject(error: SpockError): void {
		for (const { reject } of this.#openings.splice(0)) reject(error);
	}
}
