/**
 * The disk, as the log uses it: so little of it that a model of a page cache, of torn writes and of a full disk can stand in. Every
 * method rejects with the error of the operating system, its `code` included.
 */
export interface Files {
	/** Names in a directory; makes it, for this user alone, where it does not exist and never did. */
	list(directory: string): Promise<readonly string[]>;
	/** Opens an existing file for reading. */
	open(path: string): Promise<ReadableFile>;
	/** Opens an existing file for writing, too. */
	reopen(path: string): Promise<WritableFile>;
	/** Makes a new file; rejects with EEXIST where there is one. */
	create(path: string): Promise<WritableFile>;
	rename(from: string, to: string): Promise<void>;
	/** Removes a file; does nothing where there is none. */
	remove(path: string): Promise<void>;
	/** Makes names in the directory durable: what was created, renamed and removed. */
	syncDirectory(directory: string): Promise<void>;
	/** Bytes that may still be written to the file system of the directory, and all that it has. */
	space(directory: string): Promise<{ readonly freeBytes: number; readonly totalBytes: number }>;
}

export interface ReadableFile {
	readonly bytes: number;
	/** Up to `length` bytes from an offset; fewer only at the end of the file. */
	read(offset: number, length: number): Promise<Uint8Array>;
	close(): Promise<void>;
}

export interface WritableFile extends ReadableFile {
	/** Writes all of it at this offset. Durable after `sync` at the latest; a file that writes through has it on disk already. */
	write(chunks: readonly Uint8Array[], offset: number): Promise<void>;
	/**
	 * Everything written is durable when it resolves: by `fdatasync`, or by nothing where each write was (`O_DSYNC`); then it is the write
	 * that rejects. After a rejection nothing is known of what was written since the last one that resolved.
	 */
	sync(): Promise<void>;
}

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
