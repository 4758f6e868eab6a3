import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';

/** A private directory with a socket path that is surely short enough; disposing removes both. */
export interface TempSocket extends AsyncDisposable {
	readonly directory: string;
	readonly path: string;
}

/** Makes a directory under /tmp (os.tmpdir() may be too deep for a socket path). Nothing listens at `path` yet. */
export async function tempSocket(name = 'sidecar.sock'): Promise<TempSocket> {
	const directory = await mkdtemp('/tmp/spock-test-');
	return {
		directory,
		path: join(directory, name),
		[Symbol.asyncDispose]: () => rm(directory, { recursive: true, force: true }),
	};
}
