import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { createInflateRaw } from 'node:zlib';

import { waitFor } from '@spock/testkit';
import { expect, it } from 'vitest';

import { PackedWriter } from './packed-writer.ts';

/** Of digits that hardly shrink. */
function line(): string {
	return `${Array.from({ length: 2000 }, () => Math.random().toString(36).slice(2)).join('')}\n`;
}

it('knows what a peer that does not read has left, and says when it is less', async () => {
	let accepted: Socket | undefined;
	const server = createServer({ pauseOnConnect: true }, (socket) => {
		accepted = socket;
	}).listen(0, '127.0.0.1');
	await once(server, 'listening');
	const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
	await once(socket, 'connect');
	let drains = 0;
	const writer = new PackedWriter('deflate', socket, () => drains++);
	let written = '';
	// Until the kernel takes no more.
	await waitFor('a backlog', async () => {
		const text = line().repeat(8);
		writer.write(text);
		written += text;
		return writer.backlogBytes > 1024 * 1024;
	});
	const before = drains;
	const unpacker = createInflateRaw();
	let got = 0;
	unpacker.on('data', (bytes: Uint8Array) => {
		got += bytes.length;
	});
	accepted?.pipe(unpacker, { end: false });
	accepted?.resume();
	await waitFor('all of it', () => got === written.length);
	await waitFor('an empty backlog', () => writer.backlogBytes === 0);
	expect(drains).toBeGreaterThan(before);
	socket.destroy();
	server.close();
});
