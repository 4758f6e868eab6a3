import { Duplex } from 'node:stream';

/** The sidecar's end of a connection, in memory and at once: what the client writes is kept, what is said it gets now. */
export class HostileEnd extends Duplex {
	readonly say: (chunk: Buffer) => void;
	written = '';

	constructor(receive: (chunk: Buffer) => void) {
		super();
		this.say = (chunk) => {
			if (!this.destroyed) receive(chunk);
		};
	}

	override _read(): void {
		// What is said is given to the client directly.
	}

	override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
		this.written += chunk.toString();
		done();
	}

	/** The ids of the requests for a function that were written. */
	idsOf(func: string): number[] {
		return [...this.written.matchAll(/^\{"id":(\d+),"func":"(\w+)"/gm)].flatMap(([, id, name]) =>
			name === func ? [Number(id)] : [],
		);
	}
}
