import { createServer } from 'node:net';
import { createInterface } from 'node:readline';

import { announce, listenTarget } from './announce.ts';
import { ADDRESS, SERVICE } from './catalogue.ts';

/** The published design as one would write it from its description: a line, JSON.parse, a lookup, JSON.stringify. */
export function serveReadline(address: string): void {
	const services = new Map<string, object>([[SERVICE, ADDRESS]]);
	const server = createServer((socket) => {
		socket.on('error', () => socket.destroy());
		createInterface({ input: socket }).on('line', (line) => {
			const { id, data } = JSON.parse(line) as { id: number; data: { service: string } };
			const found = services.get(data.service);
			const reply = found === undefined ? { id, error: { code: 'NO_SUCH_SERVICE' } } : { id, data: found };
			socket.write(`${JSON.stringify(reply)}\n`);
		});
	});
	server.listen(listenTarget(address), () => announce(String(server.address())));
}
