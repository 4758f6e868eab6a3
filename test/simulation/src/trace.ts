/** Lines of a trace that are kept for a failure's report. */
const TAIL_MAX = 40_000;

/**
 * What has happened, as a hash of everything and, where it is wanted, as lines for people. Equal seeds must give equal
 * hashes: it is how a simulation proves that nothing in it takes time or randomness from elsewhere.
 */
export class Trace {
	/** Lines for people are kept. */
	readonly keepsLines: boolean;
	readonly #lines: string[] = [];
	#high = 0x811c9dc5;
	#low = 0x01000193;

	constructor(keepsLines: boolean) {
		this.keepsLines = keepsLines;
	}

	get hash(): string {
		return [this.#high, this.#low].map((half) => (half >>> 0).toString(16).padStart(8, '0')).join('');
	}

	/** The last lines; empty unless they are kept. */
	tail(): readonly string[] {
		return this.#lines.slice(-TAIL_MAX);
	}

	/** Mixes a number in. */
	mix(value: number): void {
		this.#high = Math.imul(this.#high ^ value, 0x01000193);
		this.#low = Math.imul((this.#low << 13) ^ (this.#low >>> 19) ^ value, 0x85ebca6b);
	}

	mixText(text: string): void {
		for (let at = 0; at < text.length; at++) this.mix(text.charCodeAt(at));
	}

	/** Mixes bytes in: four at a time, which is enough to tell two streams apart. */
	mixBytes(bytes: Buffer): void {
		this.mix(bytes.length);
		const whole = bytes.length & ~3;
		for (let at = 0; at < whole; at += 4) this.mix(bytes.readInt32LE(at));
		for (let at = whole; at < bytes.length; at++) this.mix(bytes[at] as number);
	}

	/** Says for people what happens now; made only where lines are kept. */
	say(nowMs: number, line: () => string): void {
		if (!this.keepsLines) return;
		this.#lines.push(`${nowMs.toFixed(3).padStart(12)}  ${line()}`);
		if (this.#lines.length > TAIL_MAX * 4) this.#lines.splice(0, TAIL_MAX * 2);
	}
}
