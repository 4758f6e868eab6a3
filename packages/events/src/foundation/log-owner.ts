/**
 * The right to write a log's directory. One process has it; a successor may claim it while the owner still lives, and from then on
 * `isOurs` is false for the owner. Whoever loses it writes on to no effect: it acknowledges nothing.
 */
export interface LogOwner {
	/**
	 * Claims the directory. Rejects with UNAVAILABLE, naming who has it, where a living process does and `from` is not
	 * `'anyone'`; with `'anyone'` it is taken from that process.
	 */
	claim(from: 'nobody' | 'anyone'): Promise<void>;
	/** Looks whether it is still ours: one call of the operating system. Asked after each sync, before anything is acknowledged. */
	isOurs(): Promise<boolean>;
	/** Gives it up. Idempotent. */
	release(): Promise<void>;
}
