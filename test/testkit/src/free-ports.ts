import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

// Below the range from which the system takes ports for connections (32768 and up on Linux): a port that is free for a while, because its
// server starts again, or because nothing may answer there, is not taken by a connection of another test meanwhile.
const LOWEST = 15_000;
const HIGHEST = 32_767;

/** A server that holds a port. */
export interface HeldPort {
	readonly port: number;
	close(): Promise<void>;
}

/** Listens at a port of a host. Rejects with the error of `listen`. */
export function holdPort(host: string, port: number): Promise<HeldPort> {
	return new Promise((resolve, reject) => {
		const server = createServer();
		server.once('error', reject);
		server.listen(port, host, () => {
			resolve({ port, close: () => new Promise((closed) => server.close(() => closed())) });
		});
	});
}

/** Different ports that are free on all of the hosts. Another process may take one before it is used: start again then. */
export async function freePortsOf(hosts: readonly string[], count: number): Promise<number[]> {
	// Held until all are found, so that they differ.
	const held: HeldPort[] = [];
	const found: number[] = [];
	try {
		while (found.length < count) {
			const port = randomInt(LOWEST, HIGHEST + 1);
			const outcomes = await Promise.allSettled(hosts.map((host) => holdPort(host, port)));
			for (const outcome of outcomes) if (outcome.status === 'fulfilled') held.push(outcome.value);
			const error = outcomes.find(({ status }) => status === 'rejected') as PromiseRejectedResult | undefined;
			if (error === undefined) found.push(port);
			else if ((error.reason as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error.reason;
		}
	} finally {
		await Promise.all(held.map(({ close }) => close()));
	}
	return found;
}

/** As {@link freePortsOf}, of one host. */
export function freePorts(count: number, host = '127.0.0.1'): Promise<number[]> {
	return freePortsOf([host], count);
}

/** A port of 127.0.0.1 at which no process listens: a connection to it is refused. */
export async function freePort(): Promise<number> {
	const [port = 0] = await freePorts(1);
	return port;
}
