import type { Duplex, Transform } from 'node:stream';

import type { FramedSocket } from './framed-socket.ts';

/** How a client may pack what it sends: a name of a feature in hello. */
export type Packing = 'zstd' | 'deflate';

/** Of zstd, as a power of two: 2 MiB is what an unpacker keeps. A stream that wants more is refused. */
const WINDOW_LOG = 21;
/** Packs metrics a tenth smaller than level 3, in two thirds of the processor time, when all is one context. */
const ZSTD_LEVEL = 2;
const DEFLATE_LEVEL = 1;
/** Parameters of zstd by their numbers: https://nodejs.org/api/zlib.html#zstd-constants */
const COMPRESSION_LEVEL = 100;
const COMPRESSION_WINDOW_LOG = 101;
const DECOMPRESSION_WINDOW_LOG_MAX = 100;
/** End of a write: all of it can be unpacked. */
const FLUSH = 1;

const NOTHING: Uint8Array = new Uint8Array(0);
/** Most bytes that an unpacker gives at once: with the 16 KiB of Node it takes half as much again of the processor. */
const UNPACKED_BYTES = 65_536;

type Zlib = typeof import('node:zlib');

/** What Node has from 22.15 on. */
interface Zstd {
	createZstdCompress(options: ZstdOptions): Transform;
	createZstdDecompress(options: ZstdOptions): Transform;
}

interface ZstdOptions {
	readonly flush?: number;
	readonly chunkSize?: number;
	readonly params: Readonly<Record<number, number>>;
}

/** What this version of Node can pack and unpack, the best first: zstd from 22.15 on. */
export function packings(): readonly Packing[] {
	return 'createZstdCompress' in zlib() ? ['zstd', 'deflate'] : ['deflate'];
}

/** Packs a stream in one context from its first byte to its last, and gives everything that was written with each write. */
export function createPacker(packing: Packing): Transform {
	const { constants, createDeflateRaw, createZstdCompress } = zlib();
	if (packing === 'deflate') return createDeflateRaw({ level: DEFLATE_LEVEL, flush: constants.Z_SYNC_FLUSH });
	const params = { [COMPRESSION_LEVEL]: ZSTD_LEVEL, [COMPRESSION_WINDOW_LOG]: WINDOW_LOG };
	return createZstdCompress({ flush: FLUSH, params });
}

/**
 * Unpacks it, 64 KiB at a time at most, and nothing while it is not read: however much a few bytes stand for, no more than that is in memory.
 * Emits an error for what is no such stream.
 */
export function createUnpacker(packing: Packing): Transform {
	const { createInflateRaw, createZstdDecompress } = zlib();
	if (packing === 'deflate') return createInflateRaw({ chunkSize: UNPACKED_BYTES });
	return createZstdDecompress({ chunkSize: UNPACKED_BYTES, params: { [DECOMPRESSION_WINDOW_LOG_MAX]: WINDOW_LOG } });
}

/**
 * What comes from now on is unpacked: all of it, as a chunk that is being read is not. `failed` is called once, where that cannot be done. Gives
 * what ends it: to be called when the socket is closed. The socket's `bytesRead` counts what comes out.
 */
export function unpackInput(
	framed: FramedSocket,
	socket: Duplex,
	packing: Packing,
	failed: (error: Error) => void,
): () => void {
	const unpacker = createUnpacker(packing);
	framed.readFrom(unpacker);
	unpacker.on('error', failed);
	// Not ended with the socket: a stream that ends in its middle would be an error, and what came before it lost.
	socket.pipe(unpacker, { end: false });
	socket.once('end', () => unpacker.write(NOTHING, () => unpacker.push(null)));
	return () => void unpacker.destroy();
}

/** Loaded where something is packed. */
function zlib(): Zlib & Zstd {
	return process.getBuiltinModule('node:zlib') as Zlib & Zstd;
}
