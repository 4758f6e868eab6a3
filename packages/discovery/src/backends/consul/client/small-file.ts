import { constants } from 'node:fs';
import { open } from 'node:fs/promises';

/** Longer than any token, certificate or bundle of certificates that a system ships. */
const BYTES_MAX = 1024 * 1024;

/** The text of a file of credentials. Rejects with an Error that names the file, and never shows what stands in it. */
export async function readSmallFile(path: string): Promise<string> {
	let file: Awaited<ReturnType<typeof open>> | undefined;
	try {
		// A FIFO that nobody writes would hold up one of the few threads for files, and with it the end of the process.
		file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
		const stats = await file.stat();
		if (!stats.isFile()) throw new Error('it is not a regular file');
		if (stats.size > BYTES_MAX) throw new Error(`it is longer than ${BYTES_MAX} bytes`);
		return await file.readFile('utf8');
	} catch (cause) {
		const { code, message } = cause as NodeJS.ErrnoException;
		throw new Error(`${path} cannot be read: ${code ?? message}`, { cause });
	} finally {
		await file?.close();
	}
}
