import { SNAPSHOT_BYTES_MAX } from '@spock/protocol';
import { isObject } from '@spock/protocol/internal';

/** The lists that come in parts: of a snapshot, and of the answer to listServices. */
const LISTS = ['instances', 'services'] as const;
type ListName = (typeof LISTS)[number];

/** The parts of the list that is coming on one connection: of one at a time, and no more than SNAPSHOT_BYTES_MAX. */
export class UnfinishedParts {
	#of: unknown;
	#count = 0;
	#characters = 0;
	#name: ListName | undefined;
	#list: unknown[] = [];

	/** Adds the data of the next part, whose frame is so long. Returns why it is of no use; undefined if it is of use. */
	add(data: unknown, characters: number): string | undefined {
		const members = (data ?? {}) as Readonly<Record<string, unknown>>;
		const { of, index } = members;
		if (index === 0) {
			this.#begin(of);
			this.#name = LISTS.find((name) => members[name] !== undefined);
		}
		this.#characters += characters;
		const list = this.#name === undefined ? undefined : members[this.#name];
		const isNext = of === this.#of && index === this.#count && Array.isArray(list);
		if (isNext && this.#characters <= SNAPSHOT_BYTES_MAX) {
			this.#count++;
			for (const entry of list) this.#list.push(entry);
			return undefined;
		}
		this.#begin(undefined);
		return isNext ? 'a list in parts is too long' : 'a part of a list does not follow the one before';
	}

	/** The data of a reply or a push, with the list of the parts before it where it names them. Those of others are forgotten. */
	complete(data: unknown): unknown {
		if (!isObject(data) || !isObject(data['parts'])) return data;
		const { parts, ...state } = data;
		const { of, count } = parts as Readonly<Record<string, unknown>>;
		const isWhole = of === this.#of && count === this.#count;
		const [name, list] = [this.#name, this.#list];
		this.#begin(undefined);
		// Without its list it is one that cannot be read.
		return isWhole && name !== undefined ? { ...state, [name]: list } : state;
	}

	#begin(of: unknown): void {
		this.#of = of;
		this.#count = 0;
		this.#characters = 0;
		this.#name = undefined;
		this.#list = [];
	}
}
