import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import { FakeClock } from '@spock/testkit';
import { expect, it } from 'vitest';

import { consulBackend } from '../consul-backend.ts';

const MIB = 1024 * 1024;

it.each([
	['of 80 MiB', Buffer.alloc(MIB, ' '), 80, 'more than 67108864 bytes', 70],
	['with millions of empty entries', Buffer.from('{},'.repeat(MIB / 4)), 60, 'more than 4000000 values', 20],
])(
	'an answer %s is cut off while it comes, and is a failure of that query alone',
	async (_how, chunk, chunks, message, sentMax) => {
		let sent = 0;
		const server = createServer((_request, response) => {
			response.writeHead(200, { 'content-type': 'application/json', 'x-consul-index': '10' });
			response.write('[');
			const go = (): void => {
				if (response.destroyed || sent++ >= chunks) response.end('{}]');
				else response.write(chunk, go);
			};
			go();
		});
		await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
		const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
		const backend = consulBackend({ addresses: [url], clock: new FakeClock() });
		await expect(backend.read?.({ service: 'evil' })).rejects.toMatchObject({
			code: 'UNAVAILABLE',
			message: expect.stringContaining(message),
		});
		expect(sent).toBeLessThan(sentMax);
		await backend.close();
		server.closeAllConnections();
		await new Promise((resolve) => server.close(resolve));
	},
);
