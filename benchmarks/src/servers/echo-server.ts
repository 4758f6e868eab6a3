import { type AddressInfo, createServer } from 'node:net';

import { announce, listenTarget } from './announce.ts';

/** The limit in Node: bytes come and go back, nothing is read of them. */
export function serveEcho(address: string): void {
	const server = createServer((socket) => {
		socket.on('data', (chunk) => socket.write(chunk));
		socket.on('error', () => socket.destroy());
	});
	server.listen(listenTarget(address), () => {
		const bound = server.address();
		announce(typeof bound === 'string' ? bound : `127.0.0.1:${(bound as AddressInfo).port}`);
	});
}
