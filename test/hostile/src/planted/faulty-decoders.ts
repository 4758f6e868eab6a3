import { isUtf8 } from 'node:buffer';

import { FrameDecoder, type FrameDecoderOptions, type FrameSink } from '@spock/protocol';

const LF = 0x0a;
const LINE_END = Buffer.from('\n');

/** Keeps the start of a frame as a view of the chunk, which the caller overwrites. */
export class UncopiedDecoder extends FrameDecoder {
	#kept: Buffer = Buffer.alloc(0);

	override push(chunk: Buffer): void {
		const end = chunk.lastIndexOf(LF) + 1;
		super.push(this.#kept);
		super.push(chunk.subarray(0, end));
		this.#kept = chunk.subarray(end);
	}
}

/** Drops chunks that arrive while it is held. */
export class ForgetfulDecoder extends FrameDecoder {
	#isHeld = false;

	override hold(): void {
		this.#isHeld = true;
		super.hold();
	}

	override release(): void {
		this.#isHeld = false;
		super.release();
	}

	override push(chunk: Buffer): void {
		if (!this.#isHeld) super.push(chunk);
	}
}

/** Ends a frame at a lone CR. */
export class CarriageReturnDecoder extends FrameDecoder {
	override push(chunk: Buffer): void {
		super.push(Buffer.from(chunk.toString('latin1').replaceAll('\r', '\n'), 'latin1'));
	}
}

/** Throws for a chunk that is not UTF-8. */
export class ThrowingDecoder extends FrameDecoder {
	override push(chunk: Buffer): void {
		if (!isUtf8(chunk)) throw new TypeError('planted');
		super.push(chunk);
	}
}

/** After reporting an oversize frame, emits the rest of its line as a frame. */
export class ResumingDecoder extends FrameDecoder {
	readonly #tooLong: { isReported: boolean };

	constructor(sink: FrameSink, options: FrameDecoderOptions) {
		const tooLong = { isReported: false };
		super(
			{
				...sink,
				fault: (code, message) => {
					tooLong.isReported = code === 'FRAME_TOO_LARGE';
					sink.fault(code, message);
				},
			},
			options,
		);
		this.#tooLong = tooLong;
	}

	override push(chunk: Buffer): void {
		super.push(chunk);
		if (this.#tooLong.isReported && this.partialBytes === 0) super.push(LINE_END);
		this.#tooLong.isReported = false;
	}
}

/** Accepts ids with leading zeros on the fast path. */
export function createZerosDecoder(sink: FrameSink, options: FrameDecoderOptions): FrameDecoder {
	const frame = (text: string, bytes: number): void => {
		const [, digits, rest = ''] = /^\{"id":(0[0-9]+)([\s\S]+)$/.exec(text) ?? [];
		if (digits === undefined || sink.numbered === undefined) sink.frame(text, bytes);
		else sink.numbered(Number(digits), rest);
	};
	return new FrameDecoder({ ...sink, frame }, options);
}
