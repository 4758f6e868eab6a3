const CAPACITY_MIN = 64;

/**
 * The lines of events that the sidecar has not persisted, by their `seq`, and how far they were sent. A ring: what is persisted
 * leaves at its old end, what is emitted comes in at its new one, and nothing is moved or allocated for one line.
 *
 *       first        next         last
 *     ┌──┴───────────┬────────────┴──┐
 *     │     sent     │    unsent     │
 *     └──────────────┴───────────────┘
 *
 * `T` is what else its owner knows of a line. Pure.
 */
export class KeptLines<T> {
	#lines: string[] = new Array<string>(CAPACITY_MIN).fill('');
	#sizes: number[] = new Array<number>(CAPACITY_MIN).fill(0);
	#owners: (T | undefined)[] = new Array<T | undefined>(CAPACITY_MIN).fill(undefined);
	#mask = CAPACITY_MIN - 1;
	#first = 1;
	#next = 1;
	#last = 0;
	#bytes = 0;
	#sentBytes = 0;

	/** `seq` of the newest line that was ever added; 0 before the first. */
	get last(): number {
		return this.#last;
	}

	/** `seq` of the oldest line that is kept; `last + 1` when none is. */
	get first(): number {
		return this.#first;
	}

	/** `seq` of the line to be sent next. */
	get next(): number {
		return this.#next;
	}

	get count(): number {
		return this.#last - this.#first + 1;
	}

	/** Sum of the sizes of all lines. */
	get bytes(): number {
		return this.#bytes;
	}

	/** Lines sent and not forgotten. */
	get sentCount(): number {
		return this.#next - this.#first;
	}

	/** Sum of their sizes. */
	get sentBytes(): number {
		return this.#sentBytes;
	}

	get hasUnsent(): boolean {
		return this.#next <= this.#last;
	}

	/** Keeps a line as `last + 1`; `bytes` is what it counts for. */
	add(line: string, bytes: number, owner: T): void {
		if (this.count > this.#mask) this.#grow();
		const place = ++this.#last & this.#mask;
		this.#lines[place] = line;
		this.#sizes[place] = bytes;
		this.#owners[place] = owner;
		this.#bytes += bytes;
	}

	/** What is known of a kept line; undefined for another seq. */
	ownerOf(seq: number): T | undefined {
		return this.#isKept(seq) ? this.#owners[seq & this.#mask] : undefined;
	}

	/** 0 for a line that is not kept. */
	bytesOf(seq: number): number {
		return this.#isKept(seq) ? (this.#sizes[seq & this.#mask] as number) : 0;
	}

	/** The next unsent line, which counts as sent from now on. Call it only while there is one. */
	send(): string {
		const place = this.#next++ & this.#mask;
		this.#sentBytes += this.#sizes[place] as number;
		return this.#lines[place] as string;
	}

	/** Nothing counts as sent any more: the oldest line is the next. */
	rewind(): void {
		this.#next = this.#first;
		this.#sentBytes = 0;
	}

	/** Forgets the oldest line. Call it only while there is one. */
	forget(): void {
		const seq = this.#first++;
		const place = seq & this.#mask;
		const bytes = this.#sizes[place] as number;
		this.#bytes -= bytes;
		if (seq < this.#next) this.#sentBytes -= bytes;
		else this.#next = this.#first;
		this.#lines[place] = '';
		this.#owners[place] = undefined;
	}

	#isKept(seq: number): boolean {
		return seq >= this.#first && seq <= this.#last;
	}

	#grow(): void {
		const capacity = 2 * (this.#mask + 1);
		const lines = new Array<string>(capacity).fill('');
		const sizes = new Array<number>(capacity).fill(0);
		const owners = new Array<T | undefined>(capacity).fill(undefined);
		for (let seq = this.#first; seq <= this.#last; seq++) {
			const [from, to] = [seq & this.#mask, seq & (capacity - 1)];
			lines[to] = this.#lines[from] as string;
			sizes[to] = this.#sizes[from] as number;
			owners[to] = this.#owners[from];
		}
		this.#lines = lines;
		this.#sizes = sizes;
		this.#owners = owners;
		this.#mask = capacity - 1;
	}
}
