/** Of all bytes, those that one share may have. */
const SHARE = 0.5;

/** Bytes that all clients hold together, such as of requests that wait, with a share for each of them. */
export class SharedBytes {
	readonly #bytesMax: number;
	readonly #shares = new Map<string, number>();
	#all = 0;

	constructor(bytesMax: number) {
		this.#bytesMax = bytesMax;
	}

	/** Whether so many more fit, for this share. */
	hasRoom(share: string, bytes: number): boolean {
		if (this.#all + bytes > this.#bytesMax) return false;
		return (this.#shares.get(share) ?? 0) + bytes <= this.#bytesMax * SHARE;
	}

	/** So many more are held, or fewer if it is negative. */
	add(share: string, bytes: number): void {
		this.#all += bytes;
		const ofShare = (this.#shares.get(share) ?? 0) + bytes;
		if (ofShare > 0) this.#shares.set(share, ofShare);
		else this.#shares.delete(share);
	}
}
