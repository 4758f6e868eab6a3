import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';

import { encodeEvent, SpockError } from '@spock/protocol';
import { makeAuthority } from '@spock/testkit';
import { expect, it } from 'vitest';

import type { LogEvent } from '../../foundation/log-record.ts';
import { HttpStore, type HttpStoreOptions } from './http-store.ts';

interface Batch {
	readonly path: string;
	readonly headers: IncomingHttpHeaders;
	readonly text: string;
	readonly events: readonly Readonly<Record<string, unknown>>[];
}

/** A web server that keeps what it takes, and answers what it is told to. */
class Receiver implements AsyncDisposable {
	readonly batches: Batch[] = [];
	/** For the next batches, one after the other; without, 204. */
	readonly answers: ((response: ServerResponse) => void)[] = [];
	readonly #server: Server;
	/** Most that were under way at once. */
	busiest = 0;
	#busy = 0;

	constructor() {
		this.#server = createServer(async (request, response) => {
			this.#busy++;
			this.busiest = Math.max(this.busiest, this.#busy);
			response.on('close', () => this.#busy--);
			const chunks: Buffer[] = [];
			for await (const chunk of request) chunks.push(chunk as Buffer);
			const text = Buffer.concat(chunks).toString();
			this.batches.push({ path: request.url ?? '', headers: request.headers, text, events: JSON.parse(text) });
			const answer = this.answers.shift();
			if (answer !== undefined) answer(response);
			else response.writeHead(204).end();
		});
	}

	async listen(): Promise<string> {
		this.#server.listen(0, '127.0.0.1');
		await once(this.#server, 'listening');
		return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
	}

	async [Symbol.asyncDispose](): Promise<void> {
		this.#server.closeAllConnections();
		this.#server.close();
	}
}

function event(
	position: number,
	given: Partial<Parameters<typeof encodeEvent>[0]> = {},
	origin: Partial<LogEvent> = {},
): LogEvent {
	const { stream = 'orders', payload = position, ...rest } = given;
	const whole = { stream, payload, ...rest };
	return {
		...{ kind: 'event', producer: 'p', epoch: 1, seq: position, position, time: 1_767_225_600_000 + position },
		...{ stream: whole.stream, key: whole.key, id: whole.id, text: encodeEvent(whole) },
		...origin,
	};
}

async function storeAt(
	receiver: Receiver,
	options: Partial<HttpStoreOptions> = {},
): Promise<HttpStore & AsyncDisposable> {
	const origin = await receiver.listen();
	const store = new HttpStore({ url: () => `${origin}/in/{stream}`, owner: 'edge-7', ...options });
	return Object.assign(store, { [Symbol.asyncDispose]: () => store.close() });
}

it('posts a batch of CloudEvents, with a key by which a repetition is known', async () => {
	await using receiver = new Receiver();
	await using store = await storeAt(receiver, { headers: async () => ({ authorization: 'Bearer secret' }) });
	const stored: number[] = [];
	const events = [
		event(7, { key: 'c-1', id: 'o-7', at: 1_700_000_000_000, version: 2, headers: { tenant: 'ä' } }),
		event(9, {}, { producer: '', epoch: 0, seq: 0 }),
		event(11, { payload: 'aGk=', encoding: 'base64' }),
		event(12, { at: Number.MAX_SAFE_INTEGER }),
	];
	await store.append('orders', events, (position) => stored.push(position));
	expect(stored).toEqual([12]);
	const [batch] = receiver.batches;
	expect(batch).toMatchObject({
		path: '/in/orders',
		headers: {
			'content-type': 'application/cloudevents-batch+json; charset=UTF-8',
			'idempotency-key': '"7-12@edge-7"',
			authorization: 'Bearer secret',
		},
	});
	const common = { specversion: '1.0', source: 'urn:spock:edge-7:orders', type: 'orders' };
	const json = { datacontenttype: 'application/json' };
	expect(batch?.events).toEqual([
		{
			...{ ...common, ...json, id: 'o-7', time: '2023-11-14T22:13:20.000Z', partitionkey: 'c-1', dataversion: 2 },
			...{ spockheaders: '{"tenant":"ä"}', data: 7 },
		},
		{ ...common, ...json, id: 'edge-7:9', time: '2026-01-01T00:00:00.009Z', data: 9 },
		{
			...{ ...common, id: 'p:1:11', time: '2026-01-01T00:00:00.011Z', datacontenttype: 'application/octet-stream' },
			data_base64: 'aGk=',
		},
		{ ...common, ...json, id: 'p:1:12', data: 12 },
	]);
});

it('gives events of two streams that have the same id sources of their own', async () => {
	await using receiver = new Receiver();
	await using store = await storeAt(receiver);
	await store.append('orders', [event(1, { id: '7' })], () => undefined);
	await store.append('payments', [event(2, { stream: 'payments', id: '7' })], () => undefined);
	const [one, other] = receiver.batches.flatMap(({ events }) => events);
	expect([one?.['id'], other?.['id']]).toEqual(['7', '7']);
	expect(one?.['source']).not.toBe(other?.['source']);
});

it.each(['.', '..'])('posts nothing to another address for a stream named %s', async (stream) => {
	await using receiver = new Receiver();
	await using store = await storeAt(receiver);
	const append = store.append(stream, [event(1, { stream })], () => undefined);
	await expect(append).rejects.toMatchObject({ code: 'BAD_REQUEST' });
	expect(receiver.batches).toEqual([]);
});

it('passes payloads on as they came', async () => {
	await using receiver = new Receiver();
	await using store = await storeAt(receiver);
	const text = '{"stream":"orders","payload":{"n":12345678901234567890,"a":1e400}}';
	await store.append('orders', [event(1, {}, { text })], () => undefined);
	expect(receiver.batches[0]?.text).toContain('"data":{"n":12345678901234567890,"a":1e400}}');
});

it('sends the batches of a stream one behind the other, and rejects those behind one that failed', async () => {
	await using receiver = new Receiver();
	await using store = await storeAt(receiver);
	const stored: number[] = [];
	const append = (position: number): Promise<void> =>
		store.append('orders', [event(position)], (to) => stored.push(to));
	await Promise.all([1, 2, 3].map(append));
	receiver.answers.push((response) => response.writeHead(204).end());
	receiver.answers.push((response) => response.writeHead(503).end('busy'));
	const settled = await Promise.allSettled([4, 5, 6].map(append));
	expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected']);
	expect(stored).toEqual([1, 2, 3, 4]);
	await append(5);
	expect(receiver.batches.map(({ events }) => events[0]?.['data'])).toEqual([1, 2, 3, 4, 5, 5]);
	expect(receiver.busiest).toBe(1);
});

it.each([
	[400, 'BAD_REQUEST'],
	[413, 'FRAME_TOO_LARGE'],
	[422, 'BAD_REQUEST'],
	[401, 'UNAVAILABLE'],
	[404, 'UNAVAILABLE'],
	[302, 'UNAVAILABLE'],
	[429, 'UNAVAILABLE'],
	[500, 'UNAVAILABLE'],
])('an answer of %i is %s', async (status, code) => {
	await using receiver = new Receiver();
	await using store = await storeAt(receiver);
	receiver.answers.push((response) => response.writeHead(status, { location: '/' }).end('x'.repeat(100_000)));
	const message = expect.stringMatching(`answered ${status}: x{300}$`);
	const appending = store.append('orders', [event(1)], () => undefined);
	await expect(appending).rejects.toMatchObject({ code, message, details: { status } });
	// The connection is good for the next.
	await store.append('orders', [event(1)], () => undefined);
});

it('an answer without a text is told by its status', async () => {
	await using receiver = new Receiver();
	await using store = await storeAt(receiver);
	receiver.answers.push((response) => response.writeHead(500).end());
	await expect(store.append('orders', [event(1)], () => undefined)).rejects.toThrow(/answered 500$/);
});

it.each<[string, (response: ServerResponse) => void]>([
	['is silent', () => undefined],
	['ends in the middle', (response) => response.writeHead(200, { 'content-length': '10' }).write('1234')],
	['is cut', (response) => response.destroy()],
])('an answer that %s is a failure of the store', async (_name, answer) => {
	await using receiver = new Receiver();
	await using store = await storeAt(receiver, { timeoutMs: 300 });
	receiver.answers.push(answer);
	const appending = store.append('orders', [event(1)], () => undefined);
	await expect(appending).rejects.toMatchObject({ code: 'UNAVAILABLE', message: /cannot be reached: / });
});

it.each(['ftp://x', 'nonsense', ''])('an address like %j is a failure of the store', async (url) => {
	const store = new HttpStore({ url: () => url, owner: 'o' });
	const appending = store.append('orders', [event(1)], () => undefined);
	await expect(appending).rejects.toMatchObject({ code: 'UNAVAILABLE', message: /no http or https URL/ });
	await store.close();
});

it('speaks TLS to a server of an authority that it was given', async () => {
	const authority = makeAuthority();
	const server = createSecureServer(authority.issue(), (request, response) => {
		request.resume().on('end', () => response.writeHead(204).end());
	}).listen(0, '127.0.0.1');
	await once(server, 'listening');
	const url = () => `https://127.0.0.1:${(server.address() as AddressInfo).port}/`;
	const trusting = new HttpStore({ url, owner: 'o', ca: authority.ca });
	await trusting.append('orders', [event(1)], () => undefined);
	const strange = new HttpStore({ url, owner: 'o' });
	await expect(strange.append('orders', [event(1)], () => undefined)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
	for (const store of [trusting, strange]) await store.close();
	server.closeAllConnections();
	server.close();
});

it.each([new SpockError('BAD_REQUEST', 'no such name can be'), new Error('no such name can be')])(
	'takes a failure to find the server, or its headers, for one of the store, and not of an event: %s',
	async (error) => {
		const fail = () => Promise.reject(error);
		const unavailable = { code: 'UNAVAILABLE', message: expect.stringContaining('no such name can be') };
		for (const options of [{ url: fail }, { url: () => 'http://127.0.0.1:1', headers: fail }]) {
			const store = new HttpStore({ ...options, owner: 'o' });
			await expect(store.append('orders', [event(1)], () => undefined)).rejects.toMatchObject(unavailable);
			await store.close();
		}
	},
);

it('asks for its address each time, and a rejection of that is one of the batch', async () => {
	await using receiver = new Receiver();
	const origin = await receiver.listen();
	const addresses = [Promise.reject(new Error('not known yet')), Promise.resolve(origin)];
	const store = new HttpStore({ url: () => addresses.shift() as Promise<string>, owner: 'o' });
	await expect(store.append('orders', [event(1)], () => undefined)).rejects.toThrow('not known yet');
	await store.append('orders', [event(1)], () => undefined);
	await store.close();
});

it('ends what is under way when it is closed', async () => {
	await using receiver = new Receiver();
	const origin = await receiver.listen();
	const store = new HttpStore({ url: () => origin, owner: 'o' });
	receiver.answers.push(() => undefined);
	const appending = store.append('orders', [event(1)], () => undefined);
	const ended = expect(appending).rejects.toMatchObject({ code: 'UNAVAILABLE' });
	await expect.poll(() => receiver.batches.length).toBe(1);
	await store.close();
	await ended;
});

it('cannot be asked, nor read', async () => {
	const store = new HttpStore({ url: () => 'http://127.0.0.1:1', owner: 'o' });
	expect(await store.lastOf()).toBeUndefined();
	expect(await store.holds()).toBe(true);
	await expect(store.reader('orders')).rejects.toMatchObject({ code: 'BAD_REQUEST', message: /consume it there/ });
	await expect(store.deleteGroup('orders', 'g')).rejects.toMatchObject({ code: 'BAD_REQUEST' });
	await store.close();
});
