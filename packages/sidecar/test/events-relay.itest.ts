import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { connect } from '@spock/client';
import { type Events, openEvents } from '@spock/client/events';
import { freePort, makeAuthority, startSidecar, TempServices, tempSocket, waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

const TOKEN = 'a-token-of-some-length';
/** The next sidecar would wait for the relay, as for any client, when it ends. */
const LOG = ['--log-format', 'json', '--drain-timeout-ms', '100'];

/** The numbers of a stream at a sidecar, up to one. */
async function numbersAt(path: string, last: number): Promise<number[]> {
	await using diplomat = await connect({ path });
	await using events = openEvents<{ orders: number }>({ diplomat });
	const numbers: number[] = [];
	for await (const event of events.consume('orders', { from: 'first' })) {
		numbers.push(event.data);
		event.ack();
		if (event.data === last) break;
	}
	return numbers;
}

function upTo(last: number): number[] {
	return Array.from({ length: last }, (_, index) => index + 1);
}

/** Emits numbers until it is stopped, as fast as there is room; gives the last. */
async function emitUntil(events: Events<{ orders: number }>, isOver: () => boolean, from: number): Promise<number> {
	let last = from;
	while (!isOver()) {
		for (let count = 0; count < 50; count++) events.emit('orders', ++last);
		await events.room({ timeoutMs: 60_000 });
		await new Promise<void>((resolve) => setTimeout(resolve, 2));
	}
	return last;
}

describe('events go from the log of a sidecar to that of another', () => {
	it('over TLS, with a token; who is not let in says why, and goes on when it is', async () => {
		await using edge = await tempSocket();
		await using centre = await tempSocket();
		const port = await freePort();
		const authority = makeAuthority();
		const { cert, key } = authority.issue();
		const file = async (name: string, text: string): Promise<string> => {
			const path = join(centre.directory, name);
			await writeFile(path, text);
			return path;
		};
		const token = await file('token', `${TOKEN}-wrong`);
		const tls = ['--tls-cert', await file('cert', cert), '--tls-key', await file('key', key)];
		await using next = await startSidecar(centre.path, [
			...['--backend', 'local', '--events', join(centre.directory, 'events'), ...LOG, ...tls],
			...['--listen', `tls://127.0.0.1:${port}`, '--token-file', await file('tokens', TOKEN)],
		]);
		await using sidecar = await startSidecar(edge.path, [
			...['--backend', 'local', '--events', join(edge.directory, 'events'), '--events-store', 'relay', ...LOG],
			...['--events-relay-address', `tls://127.0.0.1:${port}`, '--events-relay-token-file', token],
			...['--events-relay-ca', await file('ca', authority.ca)],
		]);
		await using diplomat = await connect({ path: edge.path });
		await using events = openEvents<{ orders: number }>({ diplomat });
		events.emit('orders', 1);
		await waitFor('the reason', () => sidecar.stdout().includes('"msg":"event store failed; retrying"'));
		expect(sidecar.stdout()).toContain('ACL_DENIED: this sidecar does not accept the token');
		await writeFile(token, TOKEN);
		for (let n = 2; n <= 500; n++) events.emit('orders', n);
		await events.flush({ until: 'stored', timeoutMs: 60_000 });
		expect(await numbersAt(centre.path, 500)).toEqual(upTo(500));
		await expect(events.consume('orders', { group: 'g' }).next()).rejects.toMatchObject({
			code: 'BAD_REQUEST',
			message: expect.stringContaining('consume it there'),
		});
		expect(await next.stop()).toMatchObject({ exitCode: 0 });
	});

	it('with a certificate that the next one requires; it is read again for each connection', async () => {
		await using edge = await tempSocket();
		await using centre = await tempSocket();
		const port = await freePort();
		const [authority, stranger] = [makeAuthority(), makeAuthority('another')];
		const [server, client] = [authority.issue(), authority.issue()];
		const file = async (name: string, text: string): Promise<string> => {
			const path = join(centre.directory, name);
			await writeFile(path, text);
			return path;
		};
		const ca = await file('ca', authority.ca);
		const tls = ['--tls-cert', await file('cert', server.cert), '--tls-key', await file('key', server.key)];
		await using next = await startSidecar(centre.path, [
			...['--backend', 'local', '--events', join(centre.directory, 'events'), ...LOG, ...tls],
			...['--listen', `tls://127.0.0.1:${port}`, '--tls-client-ca', ca],
		]);
		const { cert, key } = stranger.issue();
		const [certFile, keyFile] = [await file('client.cert', cert), await file('client.key', key)];
		await using sidecar = await startSidecar(edge.path, [
			...['--backend', 'local', '--events', join(edge.directory, 'events'), '--events-store', 'relay', ...LOG],
			...['--events-relay-address', `tls://127.0.0.1:${port}`, '--events-relay-ca', ca],
			...['--events-relay-cert', certFile, '--events-relay-key', keyFile],
		]);
		await using diplomat = await connect({ path: edge.path });
		await using events = openEvents<{ orders: number }>({ diplomat });
		events.emit('orders', 1);
		await waitFor('a refusal', () => sidecar.stdout().includes('"msg":"event store failed; retrying"'));
		await file('client.cert', client.cert);
		await file('client.key', client.key);
		await events.flush({ until: 'stored', timeoutMs: 60_000 });
		expect(await numbersAt(centre.path, 1)).toEqual([1]);
		expect(await next.stop()).toMatchObject({ exitCode: 0 });
	});

	it('each once, in order, while one after the other is killed', { timeout: 300_000 }, async () => {
		await using edge = await tempSocket();
		await using centre = await tempSocket();
		const port = await freePort();
		const startEdge = () =>
			startSidecar(edge.path, [
				...['--backend', 'local', '--events', join(edge.directory, 'events'), '--events-store', 'relay', ...LOG],
				...['--events-relay-address', `127.0.0.1:${port}`],
			]);
		const startNext = () =>
			startSidecar(centre.path, [
				...['--backend', 'local', '--events', join(centre.directory, 'events'), ...LOG],
				...['--listen', `127.0.0.1:${port}`],
			]);
		let [sidecar, next] = await Promise.all([startEdge(), startNext()]);
		await using diplomat = await connect({ path: edge.path });
		await using events = openEvents<{ orders: number }>({ diplomat });
		let isOver = false;
		const emitting = emitUntil(events, () => isOver, 0);
		for (let round = 0; round < 8; round++) {
			await new Promise<void>((resolve) => setTimeout(resolve, 150 + 37 * round));
			if (round % 2 === 0) {
				await next.stop('SIGKILL');
				next = await startNext();
			} else {
				await sidecar.stop('SIGKILL');
				sidecar = await startEdge();
			}
		}
		isOver = true;
		const last = (await emitting) + 1;
		await events.publish('orders', last, { until: 'stored', timeoutMs: 120_000 });
		expect(await numbersAt(centre.path, last)).toEqual(upTo(last));
		expect(sidecar.stdout() + next.stdout()).not.toContain('"level":"error"');
		await sidecar.stop();
		await next.stop();
	});

	it('after an outage, when the next one is found at another address', { timeout: 120_000 }, async () => {
		await using edge = await tempSocket();
		await using centre = await tempSocket();
		await using services = await TempServices.make();
		const ports = [await freePort(), await freePort()] as const;
		const startNext = async (port: number) => {
			await services.set('centre', [{ id: `c-${port}`, host: '127.0.0.1', port }]);
			return startSidecar(centre.path, [
				...['--backend', 'local', '--events', join(centre.directory, 'events'), '--listen', `127.0.0.1:${port}`],
				...LOG,
			]);
		};
		let next = await startNext(ports[0]);
		await using sidecar = await startSidecar(edge.path, [
			...['--backend', 'local', '--services', services.file, '--events', join(edge.directory, 'events')],
			...['--events-store', 'relay', '--events-relay-service', 'centre', ...LOG],
		]);
		await using diplomat = await connect({ path: edge.path });
		await using events = openEvents<{ orders: number }>({ diplomat });
		await events.publish('orders', 1, { until: 'stored', timeoutMs: 60_000 });
		await next.stop('SIGKILL');
		await services.set('centre', []);
		let count = 1;
		while (count < 20_000) {
			for (let more = 0; more < 500; more++) events.emit('orders', ++count);
			await events.room({ timeoutMs: 60_000 });
		}
		await events.flush({ timeoutMs: 60_000 });
		await waitFor('the reason', () => sidecar.stdout().includes('"centre\\" has no healthy instance'));
		next = await startNext(ports[1]);
		await events.flush({ until: 'stored', timeoutMs: 60_000 });
		expect(await numbersAt(centre.path, count)).toEqual(upTo(count));
		await next.stop();
	});
});
