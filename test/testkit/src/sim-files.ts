import { SpockError } from '@spock/protocol';
import type { Random } from '@spock/protocol/internal';

/** An open file: what the port of the log's disk calls a readable and a writable file. */
export interface SimFile {
	readonly bytes: number;
	read(offset: number, length: number): Promise<Uint8Array>;
	write(chunks: readonly Uint8Array[], offset: number): Promise<void>;
	sync(): Promise<void>;
	close(): Promise<void>;
}

/** What a disk writes whole, or else torn. */
const BLOCK_BYTES = 512;

/** A file as the kernel has it, and as it is on the disk. */
class SimInode {
	/** What a process reads. */
	cached: Buffer = Buffer.alloc(0);
	/** What a loss of power leaves. */
	durable: Buffer = Buffer.alloc(0);
	/** Blocks of `cached` that are not on the disk, and will be with the next sync. */
	readonly dirty: Set<number> = new Set();

	clone(): SimInode {
		const copy = new SimInode();
		copy.cached = Buffer.from(this.cached);
		copy.durable = Buffer.from(this.durable);
		for (const block of this.dirty) copy.dirty.add(block);
		return copy;
	}

	write(bytes: Uint8Array, offset: number): void {
		const end = offset + bytes.length;
		if (end > this.cached.length) this.cached = Buffer.concat([this.cached, Buffer.alloc(end - this.cached.length)]);
		this.cached.set(bytes, offset);
		for (let block = Math.floor(offset / BLOCK_BYTES); block * BLOCK_BYTES < end; block++) this.dirty.add(block);
	}

	/** It is as long as a process made it, and what it has there is left of another file. */
	exposeOld(old: SimInode | undefined, random: Random): void {
		const from = this.durable.length;
		const end = from + Math.floor(random() * (this.cached.length - from + 1));
		const bytes = Buffer.alloc(end - from);
		bytes.set(old?.cached.subarray(from, end) ?? []);
		this.durable = Buffer.concat([this.durable, bytes]);
	}

	/** Those blocks of it that happen to get to the disk; `torn` ones in part. */
	flush(random: Random, share: number, blocks: ReadonlySet<number> = this.dirty): void {
		// At once, where all of them do: a copy for each block takes seconds for some megabytes.
		if (share >= 1) this.#lengthen(Math.min((Math.max(-1, ...blocks) + 1) * BLOCK_BYTES, this.cached.length));
		for (const block of blocks) {
			if (random() >= share) continue;
			const from = block * BLOCK_BYTES;
			const isTorn = share < 1 && random() < 0.2;
			const length = isTorn ? Math.floor(random() * BLOCK_BYTES) : BLOCK_BYTES;
			const part = this.cached.subarray(from, Math.min(from + length, this.cached.length));
			this.#lengthen(from + part.length);
			this.durable.set(part, from);
		}
	}

	/** As `flush`, of what one write has changed; the rest of that is taken for clean. */
	writeBack(random: Random, share: number, offset: number, bytes: number): void {
		const blocks = new Set<number>();
		for (let block = Math.floor(offset / BLOCK_BYTES); block * BLOCK_BYTES < offset + bytes; block++) {
			if (this.dirty.delete(block)) blocks.add(block);
		}
		this.flush(random, share, blocks);
	}

	#lengthen(bytes: number): void {
		if (bytes <= this.durable.length) return;
		this.durable = Buffer.concat([this.durable, Buffer.alloc(bytes - this.durable.length)]);
	}
}

/** A disk and the kernel's memory of it. Names are changed in order, as a journal does; contents are not. */
export class SimDisk {
	/** Names as processes see them. */
	names: Map<string, SimInode> = new Map();
	/** Names that a loss of power leaves, and the changes since. */
	durableNames: Map<string, SimInode> = new Map();
	changes: ((names: Map<string, SimInode>) => void)[] = [];
	/** What was deleted: its blocks are used again, and hold it until they are written. */
	deleted: SimInode[] = [];
	/** Most bytes of all files together. */
	bytesMax: number = Number.POSITIVE_INFINITY;

	get bytes(): number {
		return [...this.names.values()].reduce((sum, { cached }) => sum + cached.length, 0);
	}

	change(change: (names: Map<string, SimInode>) => void): void {
		change(this.names);
		this.changes.push(change);
	}

	/** What is found after a loss of power at this moment: one of the many that may be. This disk stays as it is. */
	losePower(random: Random): SimDisk {
		const after = new SimDisk();
		const names = new Map(this.durableNames);
		const kept = Math.floor(random() * (this.changes.length + 1));
		for (const change of this.changes.slice(0, kept)) change(names);
		const share = random();
		for (const [name, inode] of names) {
			const copy = inode.clone();
			if (random() < 0.3) copy.exposeOld(this.deleted[Math.floor(random() * this.deleted.length)], random);
			copy.flush(random, share);
			const left = new SimInode();
			left.durable = copy.durable;
			left.cached = Buffer.from(copy.durable);
			after.names.set(name, left);
		}
		after.durableNames = new Map(after.names);
		return after;
	}

	/** As it is: what another process finds after this one was killed. */
	clone(): SimDisk {
		const copy = new SimDisk();
		const inodes = new Map<SimInode, SimInode>();
		const cloneOf = (inode: SimInode): SimInode => {
			const known = inodes.get(inode) ?? inode.clone();
			inodes.set(inode, known);
			return known;
		};
		copy.names = new Map([...this.names].map(([name, inode]) => [name, cloneOf(inode)]));
		// Changes that are not durable close over the inodes of this disk: here they are made durable.
		copy.durableNames = new Map(copy.names);
		return copy;
	}
}

export type SimOperation = 'create' | 'write' | 'sync' | 'rename' | 'remove' | 'syncDirectory';

/** How a process opens its files. */
export interface SimFilesOptions {
	/**
	 * New files are opened with `O_DSYNC`, as the product does on Linux: a write that has resolved is on the disk, of any other each block may
	 * be there, or a part of it, and `sync` does nothing. Default false: `sync` makes writes durable.
	 */
	readonly writesThrough?: boolean;
}

/** The disk as one process sees it: implements the port `Files` of the events package. */
export class SimFiles {
	readonly disk: SimDisk;
	readonly #random: Random;
	readonly #writesThrough: boolean;
	/** Called in front of each change: what it returns or rejects with happens instead; a promise that never settles is a disk that hangs. */
	before: (operation: SimOperation, path: string) => Promise<void> | undefined = () => undefined;
	/** Called after each change. */
	after: (operation: SimOperation, path: string) => void = () => undefined;
	syncs = 0;

	constructor(disk: SimDisk, random: Random = Math.random, { writesThrough = false }: SimFilesOptions = {}) {
		this.disk = disk;
		this.#random = random;
		this.#writesThrough = writesThrough;
	}

	async list(directory: string): Promise<readonly string[]> {
		const inside = [...this.disk.names.keys()].filter((path) => path.startsWith(`${directory}/`));
		return inside.map((path) => path.slice(directory.length + 1));
	}

	async open(path: string): Promise<SimFile> {
		return this.#file(path, this.#inode(path));
	}

	async reopen(path: string): Promise<SimFile> {
		return this.#file(path, this.#inode(path));
	}

	async create(path: string): Promise<SimFile> {
		await this.before('create', path);
		if (this.disk.names.has(path)) throw failure('EEXIST');
		const inode = new SimInode();
		this.disk.change((names) => names.set(path, inode));
		this.after('create', path);
		return this.#file(path, inode, this.#writesThrough);
	}

	async rename(from: string, to: string): Promise<void> {
		await this.before('rename', from);
		const inode = this.#inode(from);
		this.disk.change((names) => {
			names.delete(from);
			names.set(to, inode);
		});
		this.after('rename', from);
	}

	async remove(path: string): Promise<void> {
		await this.before('remove', path);
		const inode = this.disk.names.get(path);
		if (inode !== undefined) this.disk.deleted = [...this.disk.deleted, inode].slice(-4);
		this.disk.change((names) => names.delete(path));
		this.after('remove', path);
	}

	async syncDirectory(directory: string): Promise<void> {
		await this.before('syncDirectory', directory);
		this.disk.durableNames = new Map(this.disk.names);
		this.disk.changes = [];
		this.after('syncDirectory', directory);
	}

	async space(): Promise<{ readonly freeBytes: number; readonly totalBytes: number }> {
		const { bytesMax, bytes } = this.disk;
		return Number.isFinite(bytesMax)
			? { freeBytes: bytesMax - bytes, totalBytes: bytesMax }
			: { freeBytes: 2 ** 40, totalBytes: 2 ** 40 };
	}

	#inode(path: string): SimInode {
		const inode = this.disk.names.get(path);
		if (inode === undefined) throw failure('ENOENT');
		return inode;
	}

	#file(path: string, inode: SimInode, writesThrough = false): SimFile {
		return {
			bytes: inode.cached.length,
			read: async (offset, length) => Buffer.from(inode.cached.subarray(offset, offset + length)),
			write: async (chunks, offset) => {
				const bytes = Buffer.concat(chunks);
				if (writesThrough) await this.#writeThrough(path, inode, bytes, offset);
				else {
					await this.before('write', path);
					this.#write(inode, bytes, offset);
				}
				this.after('write', path);
			},
			sync: async () => {
				this.syncs++;
				if (!writesThrough) await this.#sync(path, inode);
			},
			close: async () => undefined,
		};
	}

	/** The kernel has some of it at once, and all of it, on the disk too, at the end. */
	async #writeThrough(path: string, inode: SimInode, bytes: Buffer, offset: number): Promise<void> {
		const begun = Math.floor(this.#random() * (bytes.length + 1));
		try {
			this.#write(inode, bytes.subarray(0, begun), offset);
			await this.before('write', path);
			this.#write(inode, bytes.subarray(begun), offset + begun);
		} catch (error) {
			inode.writeBack(this.#random, 0.5, offset, bytes.length);
			throw error;
		}
		inode.writeBack(this.#random, 1, offset, bytes.length);
	}

	/** Throws ENOSPC when what fits is written. */
	#write(inode: SimInode, bytes: Buffer, offset: number): void {
		const room = Math.max(0, this.disk.bytesMax - this.disk.bytes);
		const lacking = offset + bytes.length - inode.cached.length - room;
		inode.write(lacking > 0 ? bytes.subarray(0, Math.max(0, bytes.length - lacking)) : bytes, offset);
		if (lacking > 0) throw failure('ENOSPC');
	}

	async #sync(path: string, inode: SimInode): Promise<void> {
		try {
			await this.before('sync', path);
		} catch (error) {
			// Some of it may be on the disk; the rest is taken for clean, and no later sync writes it.
			inode.flush(this.#random, 0.5);
			inode.dirty.clear();
			throw error;
		}
		inode.flush(this.#random, 1);
		inode.dirty.clear();
		this.after('sync', path);
	}
}

export function failure(code: string): Error {
	return Object.assign(new Error(code), { code });
}

/** Who has the directory, for all processes of a simulation. */
export class SimClaims {
	#owner: SimOwner | undefined;

	owner(): SimOwner {
		return new SimOwner(this);
	}

	/** The process is gone, and its socket with it. */
	die(): void {
		this.#owner = undefined;
	}

	get current(): SimOwner | undefined {
		return this.#owner;
	}

	set current(owner: SimOwner | undefined) {
		this.#owner = owner;
	}
}

/** The claim of one process: implements the port `LogOwner` of the events package. */
export class SimOwner {
	readonly #claims: SimClaims;

	constructor(claims: SimClaims) {
		this.#claims = claims;
	}

	async claim(from: 'nobody' | 'anyone'): Promise<void> {
		if (from === 'nobody' && this.#claims.current !== undefined)
			throw new SpockError('UNAVAILABLE', 'another process has it');
		this.#claims.current = this;
	}

	async isOurs(): Promise<boolean> {
		return this.#claims.current === this;
	}

	async release(): Promise<void> {
		if (this.#claims.current === this) this.#claims.current = undefined;
	}
}
