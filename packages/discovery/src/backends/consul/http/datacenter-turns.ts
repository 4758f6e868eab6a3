import type { SpockError } from '@spock/protocol';

/** First lookups in a row, which clients wait for, after which one that is read again has its turn. */
const FIRST_IN_ROW_MAX = 3;

/** A query that waits for its turn. */
export interface Waiting {
	/** Nothing was answered to it before: a client may wait for it. */
	readonly isFirst: boolean;
	readonly admit: () => void;
	readonly reject: (error: SpockError) => void;
}

/** The queries of one datacenter that wait, in the order of their turns. Who adds one takes it out. */
export class DatacenterTurns {
	readonly #first = new Set<Waiting>();
	readonly #others = new Set<Waiting>();
	#firstInRow = 0;

	get size(): number {
		return this.#first.size + this.#others.size;
	}

	add(waiting: Waiting): void {
		this.#queueOf(waiting).add(waiting);
	}

	/** False where it did not wait. */
	delete(waiting: Waiting): boolean {
		return this.#queueOf(waiting).delete(waiting);
	}

	all(): readonly Waiting[] {
		return [...this.#first, ...this.#others];
	}

	/** The one whose turn it is, which stays until it is deleted. */
	next(): Waiting | undefined {
		const [first] = this.#first;
		const [other] = this.#others;
		const isOthersTurn = first === undefined || (other !== undefined && this.#firstInRow >= FIRST_IN_ROW_MAX);
		this.#firstInRow = isOthersTurn ? 0 : this.#firstInRow + 1;
		return isOthersTurn ? other : first;
	}

	#queueOf({ isFirst }: Waiting): Set<Waiting> {
		return isFirst ? this.#first : this.#others;
	}
}
