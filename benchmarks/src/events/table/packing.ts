import type { Transform } from 'node:stream';
import zlib from 'node:zlib';

/** What Node has from 22.15 on, and the types of Node 20 do not know. */
interface Zstd {
	zstdCompressSync(bytes: Buffer): Buffer;
	zstdDecompressSync(bytes: Buffer): Buffer;
	createZstdCompress(): Transform & { flush(callback: () => void): void };
}

const zstd = 'zstdCompressSync' in zlib ? (zlib as unknown as Zstd) : undefined;

/** What a message is compressed with by itself: zstd with its defaults, or gzip where Node has no zstd. */
export const CODEC: 'zstd' | 'gzip' = zstd === undefined ? 'gzip' : 'zstd';

/** A message, compressed by itself. */
export function pack(message: Buffer): Buffer {
	return zstd?.zstdCompressSync(message) ?? zlib.gzipSync(message, { level: 1 });
}

/** What {@link pack} was given. */
export function unpack(packed: Buffer): Buffer {
	return zstd?.zstdDecompressSync(packed) ?? zlib.gunzipSync(packed);
}

/** The bytes of these messages in one context, which is flushed behind each, as a connection is. */
export async function bytesInOneContext(messages: readonly Buffer[]): Promise<number> {
	const stream = zstd?.createZstdCompress() ?? zlib.createGzip({ level: 1 });
	let bytes = 0;
	stream.on('data', (chunk: Buffer) => {
		bytes += chunk.length;
	});
	for (const message of messages) {
		stream.write(message);
		await new Promise<void>((resolve) => stream.flush(resolve));
	}
	stream.destroy();
	return bytes;
}
