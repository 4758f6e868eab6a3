import { Duplex } from 'node:stream';

import type { BytePipe, PipeReader } from './byte-pipe.ts';
import type { SimProcess } from './sim-process.ts';

import { systemError } from './system-error.ts';

/** What Node 20 has; newer ones hold more, and a run must not depend on that. */
const HIGH_WATER_MARK = 16_384;

// As the real transport: one buffer for all sockets, so that whoever keeps a chunk finds it overwritten.
const readBuffer = Buffer.alloc(65_536);

/** The two directions of a connection as one side sees them. */
export interface SocketEnds {
	readonly incoming: BytePipe;
	readonly outgoing: BytePipe;
	/** This side has handed bytes to the kernel. */
	readonly written: (bytes: Buffer) => void;
	/** This side has read bytes. */
	readonly taken: (bytes: Buffer) => void;
	/** This side has let go of it. */
	readonly gone: () => void;
}

/** Options of {@link SimSocket}. */
export interface SimSocketOptions {
	readonly allowHalfOpen: boolean;
	/** As `onread` of node:net: bytes come here and not as `data`. */
	readonly receive?: (chunk: Buffer) => void;
	/** Called once, when the process has let go of it. */
	readonly gone: () => void;
	/** A fault: what is read in place of these bytes. */
	readonly reads?: ((bytes: Buffer) => Buffer) | undefined;
	/** A fault: what is written in place of these bytes. */
	readonly writes?: ((bytes: Buffer) => Buffer) | undefined;
	/** A fault: the other side never learns that this one has let go. */
	readonly losesEnd?: boolean | undefined;
}

/** What stands where a `net.Socket` stands: the same stream, over pipes of the simulation. */
export class SimSocket extends Duplex implements PipeReader {
	readonly owner: SimProcess;
	readonly #options: SimSocketOptions;
	readonly #forget: () => void;
	#ends: SocketEnds | undefined;
	#early: (() => void) | undefined;
	#saidEarly = 0;
	#isReleased = false;

	constructor(owner: SimProcess, options: SimSocketOptions) {
		super({
			allowHalfOpen: options.allowHalfOpen,
			emitClose: false,
			readableHighWaterMark: HIGH_WATER_MARK,
			writableHighWaterMark: HIGH_WATER_MARK,
		});
		this.owner = owner;
		this.#options = options;
		this.#forget = owner.atExit(() => this.#release());
	}

	/** The connection is there. */
	connected(ends: SocketEnds): void {
		this.#ends = ends;
		ends.incoming.reader = this;
		ends.outgoing.writer = this.owner;
		ends.outgoing.said(this.#saidEarly);
		const early = this.#early;
		this.#early = undefined;
		early?.();
		ends.incoming.want();
	}

	ref(): this {
		return this;
	}

	unref(): this {
		return this;
	}

	deliver(bytes: Buffer): boolean {
		this.#ends?.taken(bytes);
		const { receive, reads } = this.#options;
		const read = reads?.(bytes) ?? bytes;
		if (reads !== undefined && read.length === 0) return true;
		if (receive === undefined) return this.push(Buffer.from(read));
		for (let from = 0; from < read.length; from += readBuffer.length) {
			const length = read.copy(readBuffer, 0, from);
			receive(readBuffer.subarray(0, length));
		}
		return true;
	}

	ended(): void {
		this.push(null);
		this.read(0);
	}

	failed(code: 'ECONNRESET' | 'EPIPE'): void {
		// Not accepted yet: it is told of when somebody reads.
		if (this.#ends === undefined) this.#early = () => this.owner.schedule(0, 'read', () => this.failed(code));
		else this.destroy(systemError(code, 'read'));
	}

	/** As the stream's, and notes when it was said. */
	override write(chunk: unknown, ...rest: unknown[]): boolean {
		const encoding = typeof rest[0] === 'string' ? (rest[0] as BufferEncoding) : 'utf8';
		const { writes } = this.#options;
		if (writes !== undefined) {
			const bytes = writes(typeof chunk === 'string' ? Buffer.from(chunk, encoding) : (chunk as Buffer));
			this.#ends?.outgoing.said(bytes.length);
			return super.write(bytes, ...(rest as [BufferEncoding]));
		}
		const byteCount = typeof chunk === 'string' ? Buffer.byteLength(chunk, encoding) : (chunk as Buffer).length;
		if (this.#ends === undefined) this.#saidEarly += byteCount;
		else this.#ends.outgoing.said(byteCount);
		return super.write(chunk, ...(rest as [BufferEncoding]));
	}

	override _read(): void {
		this.#ends?.incoming.want();
	}

	override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
		if (this.#ends === undefined) {
			this.#early = () => this._write(chunk, _encoding, done);
			return;
		}
		// A fault has taken all of it.
		if (chunk.length === 0) {
			done();
			return;
		}
		this.#ends.written(chunk);
		this.#ends.outgoing.write(chunk, done);
	}

	override _writev(chunks: { chunk: Buffer; encoding: BufferEncoding }[], done: (error?: Error | null) => void): void {
		this._write(Buffer.concat(chunks.map(({ chunk }) => chunk)), 'binary' as BufferEncoding, done);
	}

	override _final(done: (error?: Error | null) => void): void {
		if (this.#ends === undefined) {
			this.#early = () => this._final(done);
			return;
		}
		if (this.#options.losesEnd !== true) this.#ends.outgoing.end();
		done();
	}

	/** Of a connection that was never accepted. */
	refused(ends: SocketEnds): void {
		this.#ends = ends;
		this.destroy();
	}

	override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
		this.#release();
		// A real handle closes in a later turn of the loop, and `close` is told then.
		this.owner.schedule(0, 'socket closed', () => this.emit('close', error !== null));
		done(error);
	}

	/** As the kernel closes a descriptor: what was written still arrives, unless something unread is thrown away. */
	#release(): void {
		if (this.#isReleased) return;
		this.#isReleased = true;
		this.#forget();
		const ends = this.#ends;
		if (ends !== undefined) {
			const isUnread = ends.incoming.unread > 0;
			ends.incoming.readerGone();
			if (this.#options.losesEnd !== true) ends.outgoing.close(isUnread ? 'RST' : 'FIN');
			ends.gone();
		}
		this.#options.gone();
	}
}
