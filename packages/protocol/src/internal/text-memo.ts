/** Options of {@link TextMemo}. */
export interface TextMemoOptions {
	/** Texts remembered at most; half of them are forgotten at once. */
	readonly countMax: number;
	/** Longer texts are not remembered. */
	readonly lengthMax: number;
}

interface Entry<T> {
	readonly text: string;
	readonly value: T;
}

const NOT_LATIN1 = /[^\x00-\xff]/;
/** Places of the quick look; a power of two. */
const PLACES = 256;

/**
 * Values by the text they were read from: what was read once is not parsed again. Bounded; two generations take turns, so
 * that texts seen once push out each other and not those in use.
 *
 * Before the maps comes a quick look at the one place where a text would be, told by six of its characters. A slice of a
 * chunk has no hash yet: to hash it and ask a map was measured as 160 ns, to compare it with one candidate as 60 ns.
 */
export class TextMemo<T> {
	readonly #lengthMax: number;
	readonly #generationMax: number;
	#places: (Entry<T> | undefined)[] = [];
	#young = new Map<string, Entry<T>>();
	#old = new Map<string, Entry<T>>();

	constructor({ countMax, lengthMax }: TextMemoOptions) {
		this.#lengthMax = lengthMax;
		this.#generationMax = Math.max(1, countMax >> 1);
	}

	/** The value of a text, if it is remembered. */
	find(text: string): T | undefined {
		const place = placeOf(text);
		const candidate = this.#places[place];
		if (candidate !== undefined && candidate.text === text) return candidate.value;
		if (text.length > this.#lengthMax) return undefined;
		let entry = this.#young.get(text);
		if (entry === undefined) {
			entry = this.#old.get(text);
			if (entry === undefined) return undefined;
			this.#keep(entry);
		}
		this.#places[place] = entry;
		return entry.value;
	}

	/** Remembers a value, unless its text is too long or of more than Latin-1. */
	remember(text: string, value: T): void {
		if (text.length > this.#lengthMax || NOT_LATIN1.test(text)) return;
		// A copy: a slice would keep the whole chunk alive that it was cut from.
		this.#keep({ text: Buffer.from(text, 'latin1').toString('latin1'), value });
	}

	clear(): void {
		this.#places = [];
		this.#young.clear();
		this.#old.clear();
	}

	#keep(entry: Entry<T>): void {
		if (this.#young.size >= this.#generationMax) {
			this.#old = this.#young;
			this.#young = new Map();
			// Places must not keep alive what both generations have forgotten.
			this.#places = [];
		}
		// Made when first needed: an idle connection has none.
		if (this.#places.length === 0) this.#places = new Array<Entry<T> | undefined>(PLACES).fill(undefined);
		this.#young.set(entry.text, entry);
	}
}

/** Where a text would be: by its length and characters where names, ports and addresses differ. */
function placeOf(text: string): number {
	const { length } = text;
	let mix = length;
	mix = Math.imul(mix, 31) + text.charCodeAt(length - 3);
	mix = Math.imul(mix, 31) + text.charCodeAt(length - 4);
	mix = Math.imul(mix, 31) + text.charCodeAt(length - 5);
	mix = Math.imul(mix, 31) + text.charCodeAt(length >> 1);
	mix = Math.imul(mix, 31) + text.charCodeAt(length >> 2);
	mix = Math.imul(mix, 31) + text.charCodeAt((length >> 2) + 3);
	return mix & (PLACES - 1);
}
