import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { ID_MAX } from '../foundation/limits.ts';
import { FrameDecoder } from './frame-decoder.ts';

type Found = ['frame', string] | ['fault', string];

function decodeChunks(chunks: readonly Buffer[], frameBytesMax?: number): Found[] {
	const found: Found[] = [];
	const decoder = new FrameDecoder(
		{ frame: (text) => found.push(['frame', text]), fault: (code) => found.push(['fault', code]) },
		frameBytesMax === undefined ? {} : { frameBytesMax },
	);
	for (const chunk of chunks) decoder.push(chunk);
	return found;
}

function cutAt(stream: Buffer, cuts: readonly number[]): Buffer[] {
	const places = [...new Set(cuts.map((cut) => cut % (stream.length + 1)))].sort((a, b) => a - b);
	return [0, ...places].map((place, index) => stream.subarray(place, places[index] ?? stream.length));
}

/** The trivial decoder: the whole stream at once, split at LF. */
function referenceDecode(stream: Buffer, frameBytesMax: number): Found[] {
	const found: Found[] = [];
	let start = 0;
	for (let end = stream.indexOf(10); end !== -1; end = stream.indexOf(10, start)) {
		let line = stream.subarray(start, end);
		start = end + 1;
		if (line.at(-1) === 13) line = line.subarray(0, -1);
		if (line.length === 0) continue;
		if (line.length > frameBytesMax) {
			found.push(['fault', 'FRAME_TOO_LARGE']);
			continue;
		}
		try {
			found.push(['frame', new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(line)]);
		} catch {
			found.push(['fault', 'BAD_FRAME']);
		}
	}
	// An unfinished frame is reported as soon as no CR could make it fit.
	if (stream.length - start > frameBytesMax + 1) found.push(['fault', 'FRAME_TOO_LARGE']);
	return found;
}

const frameText = fc.oneof(
	fc.json(),
	fc.string({ unit: 'grapheme', minLength: 1 }),
	fc.constantFrom('é', '€', '😀', '\u2028', '\ufeff', '\r', 'a\rb'),
);

describe('FrameDecoder', () => {
	it('gives the same frames wherever the stream is cut, inside characters too', () => {
		fc.assert(
			fc.property(fc.array(frameText), fc.array(fc.nat()), (texts, cuts) => {
				const stream = Buffer.from(texts.map((text) => `${text.replaceAll('\n', ' ')}\n`).join(''));
				expect(decodeChunks(cutAt(stream, cuts))).toEqual(referenceDecode(stream, 1024 * 1024));
			}),
			{ numRuns: 500 },
		);
	});

	it('finds what a trivial splitter finds in any bytes, under any limit', () => {
		const bytes = fc.array(fc.oneof(fc.constantFrom(10, 13, 0x7b, 0x22, 0xc3, 0xa9, 0xff), fc.nat(255)), {
			maxLength: 80,
		});
		fc.assert(
			fc.property(bytes, fc.array(fc.nat()), fc.integer({ min: 1, max: 40 }), (values, cuts, frameBytesMax) => {
				const stream = Buffer.from(values);
				expect(decodeChunks(cutAt(stream, cuts), frameBytesMax)).toEqual(referenceDecode(stream, frameBytesMax));
			}),
			{ numRuns: 1000 },
		);
	});

	it('does work that is linear in the bytes: a frame of 1 MiB that comes in chunks of one byte', () => {
		// Counted and not timed: bytes copied out of chunks, and bytes copied when the carry grows.
		const frame = Buffer.alloc(1024 * 1024, 0x61);
		let copiedBytes = 0;
		const copy = Buffer.prototype.copy;
		Buffer.prototype.copy = function (this: Buffer, ...args: Parameters<typeof copy>): number {
			const bytes = copy.apply(this, args);
			copiedBytes += bytes;
			return bytes;
		};
		const found: Found[] = [];
		try {
			const decoder = new FrameDecoder({
				frame: (text) => found.push(['frame', text]),
				fault: (code) => found.push(['fault', code]),
			});
			for (let index = 0; index < frame.length; index++) decoder.push(frame.subarray(index, index + 1));
			decoder.push(Buffer.from('\n'));
		} finally {
			Buffer.prototype.copy = copy;
		}
		expect(found).toEqual([['frame', frame.toString()]]);
		expect(copiedBytes).toBeGreaterThanOrEqual(frame.length);
		expect(copiedBytes).toBeLessThan(3 * frame.length);
	});

	it('copies nothing of frames that come whole', () => {
		const copies = vi.spyOn(Buffer.prototype, 'copy');
		try {
			expect(decodeChunks([Buffer.from('1\n2\n'), Buffer.from('é\n3\n')])).toHaveLength(4);
			expect(copies).not.toHaveBeenCalled();
		} finally {
			copies.mockRestore();
		}
	});

	it('keeps the buffer of cut frames, but not that of a long one', () => {
		const allocations = vi.spyOn(Buffer, 'allocUnsafeSlow');
		try {
			const decoder = new FrameDecoder({ frame: () => undefined, fault: () => undefined });
			const pushCut = (bytes: number): number => {
				decoder.push(Buffer.alloc(bytes, 0x61));
				decoder.push(Buffer.from('\n'));
				return allocations.mock.calls.length;
			};
			expect([pushCut(10), pushCut(4000), pushCut(65_000), pushCut(10), pushCut(65_000)]).toEqual([1, 1, 2, 2, 2]);
			expect([pushCut(100_000), pushCut(10), pushCut(10)]).toEqual([3, 4, 4]);
		} finally {
			allocations.mockRestore();
		}
	});

	it('judges a frame that is not complete by a limit that is set meanwhile', () => {
		const found: string[] = [];
		const decoder = new FrameDecoder({ frame: (text) => found.push(text), fault: (code) => found.push(code) });
		decoder.frameBytesMax = 4;
		decoder.push(Buffer.from('12345\n123'));
		decoder.frameBytesMax = 8;
		decoder.push(Buffer.from('45678\n'));
		expect(found).toEqual(['FRAME_TOO_LARGE', '12345678']);
	});

	it.each([
		['in one chunk', ['1\n', '1\n123456\n'], 6],
		['in one chunk with others than ASCII', ['é\n1234é\n'], 6],
		['without its end', ['1\n123', '45678'], 8],
	])('names the bytes of a frame that is too long, and the limit: %s', (_how, chunks, bytes) => {
		const messages: string[] = [];
		const decoder = new FrameDecoder(
			{ frame: () => undefined, fault: (_code, message) => messages.push(message) },
			{ frameBytesMax: 4 },
		);
		for (const chunk of chunks) decoder.push(Buffer.from(chunk));
		expect(messages).toEqual([`a frame of at least ${bytes} bytes is over the limit of 4`]);
	});

	it('keeps nothing of a chunk that its owner uses again', () => {
		const found: string[] = [];
		const decoder = new FrameDecoder({ frame: (text) => found.push(text), fault: () => undefined });
		const reused = Buffer.from('{"id":1}\n{"id"');
		decoder.push(reused);
		reused.fill(0x78);
		decoder.push(Buffer.from(':2}\n'));
		expect(found).toEqual(['{"id":1}', '{"id":2}']);
	});

	it('tells nothing after stop, not even the rest of the chunk being pushed', () => {
		const found: string[] = [];
		const decoder = new FrameDecoder({
			frame: (text) => {
				found.push(text);
				decoder.stop();
			},
			fault: () => undefined,
		});
		decoder.push(Buffer.from('1\n2\n3\n'));
		decoder.push(Buffer.from('4\n'));
		expect(found).toEqual(['1']);
	});

	it('stopped by the end of a carried frame, it tells nothing of the rest of the chunk, ASCII or not', () => {
		for (const rest of ['2\n', 'é\n']) {
			const found: string[] = [];
			const decoder = new FrameDecoder({
				frame: (text) => {
					found.push(text);
					decoder.stop();
				},
				fault: () => undefined,
			});
			decoder.push(Buffer.from('1'));
			decoder.push(Buffer.from(`1\n${rest}${rest}`));
			expect(found).toEqual(['11']);
		}
	});

	it('reports an endless frame once, holds none of it, and reads what follows', () => {
		const found: Found[] = [];
		const decoder = new FrameDecoder(
			{ frame: (text) => found.push(['frame', text]), fault: (code) => found.push(['fault', code]) },
			{ frameBytesMax: 16 },
		);
		for (let index = 0; index < 1000; index++) decoder.push(Buffer.alloc(16, 0x61));
		expect(decoder.partialBytes).toBe(0);
		decoder.push(Buffer.from('\nnext\n'));
		expect(found).toEqual([
			['fault', 'FRAME_TOO_LARGE'],
			['frame', 'next'],
		]);
	});

	describe('with a sink for frames that begin with an id', () => {
		function decodeNumbered(line: string): [id: number, rest: string] | string {
			let found: [id: number, rest: string] | string | undefined;
			const decoder = new FrameDecoder({
				frame: (text) => {
					found = text;
				},
				numbered: (id, rest) => {
					found = [id, rest];
				},
				fault: () => {},
			});
			decoder.push(Buffer.from(`${line}\n`));
			if (found === undefined) throw new Error(`nothing was told of ${line}`);
			return found;
		}

		it('tells id and rest, of which the frame can be made again', () => {
			const rest = fc.string({ unit: 'grapheme', minLength: 1 }).map((text) => `,${text.replaceAll(/[\r\n]/g, ' ')}`);
			fc.assert(
				fc.property(fc.nat(ID_MAX), rest, (id, rest) => {
					expect(decodeNumbered(`{"id":${id}${rest}`)).toEqual([id, rest]);
				}),
			);
		});

		it('tells whole what begins with no number of JSON, or with none that an id can be', () => {
			for (const frame of [
				'{"id":01}',
				'{"id":}',
				'{"id":-1}',
				'{ "id":1}',
				'{"id":"1"}',
				'{"id":4294967296}',
				'{"id":12345678901}',
				'{"id":7',
				'{}',
			]) {
				expect(decodeNumbered(frame)).toBe(frame);
			}
			expect(decodeNumbered('{"id":0}')).toEqual([0, '}']);
			expect(decodeNumbered(`{"id":${ID_MAX}}`)).toEqual([ID_MAX, '}']);
		});
	});
});

describe('a decoder that is held', () => {
	/** Holds at the frames whose numbers are given, and releases when `release` says so: after that many chunks, or the end. */
	function decodeHeld(chunks: readonly Buffer[], holdAt: ReadonlySet<number>, releaseEvery: number): Found[] {
		const found: Found[] = [];
		let isHeld = false;
		const tell = (one: Found): void => {
			expect(isHeld).toBe(false);
			found.push(one);
			if (!holdAt.has(found.length)) return;
			isHeld = true;
			decoder.hold();
		};
		const decoder: FrameDecoder = new FrameDecoder({
			frame: (text) => tell(['frame', text]),
			fault: (code) => tell(['fault', code]),
		});
		const release = (): void => {
			isHeld = false;
			decoder.release();
		};
		chunks.forEach((chunk, index) => {
			decoder.push(chunk);
			if (isHeld && index % releaseEvery === 0) release();
		});
		while (isHeld) release();
		return found;
	}

	it('tells the same frames in the same order, wherever it is held and however late it is released', () => {
		fc.assert(
			fc.property(
				fc.array(frameText),
				fc.array(fc.nat()),
				fc.array(fc.nat({ max: 40 })),
				fc.integer({ min: 1, max: 5 }),
				(texts, cuts, holds, releaseEvery) => {
					const stream = Buffer.from(texts.map((text) => `${text.replaceAll('\n', ' ')}\n`).join(''));
					expect(decodeHeld(cutAt(stream, cuts), new Set(holds), releaseEvery)).toEqual(
						referenceDecode(stream, 1024 * 1024),
					);
				},
			),
		);
	});

	it.each(['1\n22\n333\n4444\n', 'é\n€€\n😀\nä1\n'])('keeps all behind the frame at which it is held: %j', (text) => {
		const stream = Buffer.from(text);
		const whole = referenceDecode(stream, 1024);
		for (let cut = 0; cut <= stream.length; cut++) {
			for (const holdAt of [[1], [2], [3], [1, 2, 3, 4]]) {
				expect(decodeHeld(cutAt(stream, [cut]), new Set(holdAt), 9)).toEqual(whole);
			}
		}
	});

	it('may be held and released by its own sink, and goes on in order', () => {
		const texts = Array.from({ length: 5000 }, (_, index) => `{"id":${index}}`);
		const found: string[] = [];
		const decoder: FrameDecoder = new FrameDecoder({
			frame: (text) => {
				found.push(text);
				decoder.hold();
				if (found.length > 1) decoder.release();
			},
			fault: () => undefined,
		});
		decoder.push(Buffer.from(texts.map((text) => `${text}\n`).join('')));
		expect(found).toEqual(texts.slice(0, 1));
		decoder.release();
		expect(found).toEqual(texts);
	});

	it('keeps a chunk of many kilobytes, also when it is held at every frame', () => {
		const texts = Array.from({ length: 4000 }, (_, index) => `{"id":${index},"func":"${'é'.repeat(index % 40)}"}`);
		const stream = Buffer.from(texts.map((text) => `${text}\n`).join(''));
		const everywhere = new Set(Array.from({ length: 4001 }, (_, index) => index));
		const found = decodeHeld(cutAt(stream, [65_536]), everywhere, 1);
		expect(found.map(([, text]) => text)).toEqual(texts);
	});

	it('tells nothing more once it was stopped while held', () => {
		const told: string[] = [];
		const decoder: FrameDecoder = new FrameDecoder({
			frame: (text) => {
				told.push(text);
				decoder.hold();
			},
			fault: () => undefined,
		});
		decoder.push(Buffer.from('1\n2\n3\n'));
		decoder.stop();
		decoder.release();
		decoder.push(Buffer.from('4\n'));
		expect(told).toEqual(['1']);
	});
});
