/** Counts events by stream until they are told. Most come in runs of one stream, which cost a comparison each. */
export class StreamCounts {
	readonly #counts = new Map<string, number>();
	#stream = '';
	#run = 0;

	add(stream: string): void {
		if (stream === this.#stream) {
			this.#run++;
			return;
		}
		this.#endRun();
		this.#stream = stream;
		this.#run = 1;
	}

	/** Gives the counts since the last call. */
	take(tell: ((stream: string, count: number) => void) | undefined): void {
		this.#endRun();
		if (this.#counts.size === 0) return;
		if (tell !== undefined) for (const [stream, count] of this.#counts) tell(stream, count);
		this.#counts.clear();
	}

	#endRun(): void {
		if (this.#run === 0) return;
		this.#counts.set(this.#stream, (this.#counts.get(this.#stream) ?? 0) + this.#run);
		this.#run = 0;
	}
}
