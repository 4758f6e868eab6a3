/** Says where a server listens, on standard output, and ends it when standard input ends: so no server outlives a run. */
export function announce(address: string): void {
	process.stdout.write(`ready ${address}\n`);
	process.stdin.on('end', () => process.exit(0)).resume();
}

/** What to listen at: `unix:PATH`, or `tcp:HOST:PORT`. */
export function listenTarget(
	address: string,
): { readonly path: string } | { readonly host: string; readonly port: number } {
	if (address.startsWith('unix:')) return { path: address.slice('unix:'.length) };
	const [, host = '127.0.0.1', port = '0'] = /^tcp:(.*):(\d+)$/.exec(address) ?? [];
	return { host, port: Number(port) };
}
