import { mkdtemp } from 'node:fs/promises';

import { freePorts } from './free-ports.ts';
import type { RunningProcess } from './spawn-sidecar.ts';
import { waitFor } from './wait-for.ts';

/** Another process may take a free port before the server binds it. */
const STARTS_MAX = 3;

/** A server that a test starts. Disposing it ends it, and removes its directory. */
export interface StartableServer extends AsyncDisposable {
	/** Rejects when it has ended instead. */
	start(): Promise<void>;
}

/** Makes a server in a directory of its own, with two free ports, and starts it: again if that fails. */
export async function startServer<S extends StartableServer>(
	prefix: string,
	host: string | undefined,
	make: (home: string, ports: readonly [number, number]) => S,
): Promise<S> {
	for (let attempt = 1; ; attempt++) {
		const home = await mkdtemp(prefix);
		const [first = 0, second = 0] = await freePorts(2, host);
		const server = make(home, [first, second]);
		try {
			await server.start();
			return server;
		} catch (error) {
			await server[Symbol.asyncDispose]();
			if (attempt >= STARTS_MAX) throw error;
		}
	}
}

/** Waits until a server's process is up. Rejects with its last words when it ends instead. */
export async function untilUp(what: string, server: RunningProcess, isUp: () => Promise<boolean>): Promise<void> {
	let ended = false;
	const end = (): void => {
		ended = true;
	};
	server.finished.then(end, end);
	await waitFor(what, async () => ended || (await isUp()), 60_000);
	if (ended) throw new Error(`${what} ended: ${(server.stdout() + server.stderr()).slice(-2000)}`);
}
