import { SNAPSHOT_BYTES_MAX } from '@spock/protocol';
import { isObject } from '@spock/protocol/internal';

/** The parts of the snapshot that is coming on one connection: of one at a time, and no more than SNAPSHOT_BYTES_MAX. */
export class UnfinishedParts {
	#of: unknown;
	#count = 0;
	#characters = 0;
	#instances: unknown[] = [];

	/** Adds the data of the next part, whose frame is so long. Returns why it is of no use; undefined if it is of use. */
	add(data: unknown, characters: number): string | undefined {
		const { of, index, instances } = (data ?? {}) as Readonly<Record<string, unknown>>;
		if (index === 0) this.#begin(of);
		this.#characters += characters;
		const isNext = of === this.#of && index === this.#count && Array.isArray(instances);
		if (isNext && this.#characters <= SNAPSHOT_BYTES_MAX) {
			this.#count++;
			for (const instance of instances) this.#instances.push(instance);
			return undefined;
		}
		this.#begin(undefined);
		return isNext ? 'a snapshot in parts is too long' : 'a part of a snapshot does not follow the one before';
	}

	/** The data of a reply or a push, with the instances of the parts before it if it says so. Those of others are forgotten. */
	complete(data: unknown): unknown {
		if (!isObject(data) || !isObject(data['parts'])) return data;
		const { parts, ...state } = data;
		const { of, count } = parts as Readonly<Record<string, unknown>>;
		const isWhole = of === this.#of && count === this.#count;
		const instances = this.#instances;
		this.#begin(undefined);
		// Without instances it is a snapshot that cannot be read.
		return isWhole ? { ...state, instances } : state;
	}

	#begin(of: unknown): void {
		this.#of = of;
		this.#count = 0;
		this.#characters = 0;
		this.#instances = [];
	}
}
