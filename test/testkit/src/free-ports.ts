import { createServer } from 'node:net';

/** Ports of a host that nobody listens at. Another process may take one before it is used: whoever uses them tries again. */
export async function freePorts(count: number, host = '127.0.0.1'): Promise<number[]> {
	// Held all at once, so that they differ.
	const servers = Array.from({ length: count }, () => createServer());
	const ports = await Promise.all(
		servers.map(
			(server) =>
				new Promise<number>((resolve, reject) => {
					server.once('error', reject);
					server.listen(0, host, () => resolve((server.address() as { readonly port: number }).port));
				}),
		),
	);
	await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
	return ports;
}

/** A port of 127.0.0.1 that nobody listens at: who connects there is refused. */
export async function freePort(): Promise<number> {
	const [port = 0] = await freePorts(1);
	return port;
}
