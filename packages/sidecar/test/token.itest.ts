import { AcceptedTokens, createSidecar } from '@spock/sidecar';
import { FakeClock, tempSocket, waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { FakeSource } from './fake-source.ts';
import { RawClient } from './raw-client.ts';

const TOKEN = 'a-token-of-some-length';
const HELLO = { versions: [1], token: TOKEN };

async function run() {
	const place = await tempSocket();
	const source = new FakeSource();
	source.publish('barista', ['1.2.3.4']);
	const clock = new FakeClock();
	const reasons: string[] = [];
	const sidecar = createSidecar({
		source,
		listen: [{ address: { path: place.path }, tokens: new AcceptedTokens([TOKEN]) }],
		limits: { graceMs: 0, drainTimeoutMs: 10, handshakeMs: 10_000 },
		clock,
		observer: { connectionClosed: (_id, reason) => void reasons.push(reason) },
	});
	await sidecar.start();
	return {
		sidecar,
		source,
		clock,
		reasons,
		open: () => RawClient.open(place.path),
		[Symbol.asyncDispose]: async () => {
			sidecar.terminate();
			sidecar.terminate();
			await clock.advance(60_000);
			await sidecar.ended;
			await place[Symbol.asyncDispose]();
		},
	};
}

describe('a listener that wants a token', () => {
	it('answers everything to who gave one, and again hello', async () => {
		await using running = await run();
		await using client = await running.open();
		expect(await client.ask(1, 'hello', HELLO)).toMatchObject({ id: 1, data: { version: 1 } });
		expect(await client.ask(2, 'ping', 2)).toEqual({ id: 2, data: 2 });
		expect(await client.ask(3, 'hello', { versions: [1] })).toMatchObject({ id: 3, data: { version: 1 } });
	});

	it('frames that come together with hello are answered, in order', async () => {
		await using running = await run();
		await using client = await running.open();
		client.socket.write(`${JSON.stringify({ id: 1, func: 'hello', data: HELLO })}\n{"id":2,"func":"ping"}\n`);
		expect([await client.next(), await client.next()]).toMatchObject([{ id: 1 }, { id: 2, data: null }]);
	});

	it.each<[string, string, number | null]>([
		['a request', '{"id":7,"func":"getService","data":{"service":"barista"}}\n', 7],
		['hello without one', '{"id":7,"func":"hello","data":{"versions":[1]}}\n', 7],
		['hello with another', '{"id":7,"func":"hello","data":{"versions":[1],"token":"a-token-of-some-lengtH"}}\n', 7],
		['hello with half of it', '{"id":7,"func":"hello","data":{"versions":[1],"token":"a-token-of-some"}}\n', 7],
		['hello with no text', '{"id":7,"func":"hello","data":{"versions":[1],"token":["a-token-of-some-length"]}}\n', 7],
		['hello without data', '{"id":7,"func":"hello"}\n', 7],
		['a notice', '{"func":"cancel","data":{"id":1}}\n', null],
		['no JSON', 'what\n', null],
		['an id that is none', '{"id":-1,"func":"ping"}\n', null],
		['a frame that is too long', `${'x'.repeat(1_048_600)}\n`, null],
	])('%s first: ACL_DENIED and the end, and nothing behind it is answered', async (_name, bytes, id) => {
		await using running = await run();
		await using client = await running.open();
		client.socket.write(`${bytes}${JSON.stringify({ id: 8, func: 'hello', data: HELLO })}\n`);
		const failure = await client.next();
		expect(failure).toMatchObject({ id, error: { code: 'ACL_DENIED', retryable: false } });
		expect(JSON.stringify(failure)).not.toContain('a-token');
		expect(await client.next()).toBeUndefined();
		client.socket.end();
		await waitFor('the end', () => running.reasons.length === 1);
		expect(running.reasons).toEqual(['denied']);
	});

	it('who says nothing, or only half of it, is closed in time', async () => {
		await using running = await run();
		await using silent = await running.open();
		await using slow = await running.open();
		slow.socket.write('{"id":1,"func":"hello",');
		await waitFor('both', () => running.sidecar.gauges().connections === 2);
		for (let turn = 0; turn < 4; turn++) await running.clock.advance(5000);
		await waitFor('the ends', () => running.reasons.length === 2);
		expect(running.reasons).toEqual(['handshake', 'handshake']);
		expect(await silent.next()).toBeUndefined();
	});

	it('holds 4 KiB of a stranger, and whole frames of whom it knows', async () => {
		await using running = await run();
		await using stranger = await running.open();
		// No line end: what is not finished is what has to be held.
		stranger.socket.write('x'.repeat(5000));
		expect(await stranger.next()).toMatchObject({
			id: null,
			error: { code: 'ACL_DENIED', message: expect.stringContaining('4096 bytes') },
		});
		expect(await stranger.next()).toBeUndefined();
		stranger.socket.end();
		await waitFor('the end', () => running.reasons.length === 1);
		expect(running.reasons).toEqual(['denied']);
		await using client = await running.open();
		const hello = JSON.stringify({ id: 1, func: 'hello', data: HELLO });
		const long = 'y'.repeat(100_000);
		// In one chunk: the limit is another for the very next frame.
		client.socket.write(
			`${' '.repeat(4096 - hello.length)}${hello}\n${JSON.stringify({ id: 2, func: 'ping', data: long })}\n`,
		);
		expect([await client.next(), await client.next()]).toMatchObject([{ id: 1 }, { id: 2, data: long }]);
		expect(await client.ask(3, 'ping', long)).toEqual({ id: 3, data: long });
	});

	it('nobody slips in while it shuts down', async () => {
		await using running = await run();
		await using holder = await running.open();
		await holder.ask(1, 'hello', HELLO);
		// Asked before, and so among the requests that are known by their text.
		await holder.ask(3, 'getService', { service: 'barista' });
		await holder.ask(4, 'getService', { service: 'barista' });
		holder.request(2, 'getService', { service: 'slow' });
		await using stranger = await running.open();
		await waitFor('both', () => running.sidecar.gauges().inFlight === 1 && running.sidecar.gauges().connections === 2);
		running.sidecar.terminate();
		await running.clock.advance(20);
		stranger.request(1, 'getService', { service: 'barista' });
		const answer = await stranger.next();
		expect(answer === undefined || answer.error?.['code'] === 'ACL_DENIED').toBe(true);
	});

	it('a token that is too short, or one too many, is a mistake of who sets it, and is not shown', () => {
		expect(() => new AcceptedTokens(['secret'])).toThrow(/^(?!.*secret).*16 to 512/);
		expect(() => new AcceptedTokens([TOKEN, `${TOKEN}2`, `${TOKEN}3`])).toThrow('not 3');
		expect(() => new AcceptedTokens([])).toThrow('not 0');
		const both = new AcceptedTokens([TOKEN, `${TOKEN}2`]);
		expect([TOKEN, `${TOKEN}2`, `${TOKEN}3`, ''].map((token) => both.find(token) !== undefined)).toEqual([
			true,
			true,
			false,
			false,
		]);
	});
});
