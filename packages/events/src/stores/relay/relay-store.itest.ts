import { encodeEvent, SpockError } from '@spock/protocol';
import { describe, expect, it } from 'vitest';

import { FakeNext } from '../../../test/fake-next.ts';
import type { LogEvent } from '../../foundation/log-record.ts';
import { RelayStore } from './relay-store.ts';

/** A relay to a sidecar that a test plays. */
async function relay(options: { readonly stallMs?: number; readonly timeoutMs?: number } = {}) {
	const next = await FakeNext.listen();
	const store = new RelayStore({ owner: 'log', access: async () => next.access, timeoutMs: 5000, ...options });
	return {
		next,
		store,
		[Symbol.asyncDispose]: async () => {
			await store.close();
			next.close();
		},
	};
}

function events(...positions: number[]): LogEvent[] {
	const text = encodeEvent({ stream: 'orders', payload: 1 });
	const same = {
		kind: 'event',
		producer: 'p',
		epoch: 1,
		stream: 'orders',
		key: undefined,
		id: undefined,
		text,
	} as const;
	return positions.map((position) => ({ ...same, seq: position, position, time: 1 }));
}

const ignore = (): void => undefined;

describe('the relay', () => {
	it('gives the positions of the log as seq, in the name of the log and the stream', async () => {
		await using at = await relay();
		const stored: number[] = [];
		const appended = at.store.append('orders', events(7, 9, 40), (position) => stored.push(position));
		expect(await at.next.opening()).toEqual({ producer: 'log.orders', epoch: 1, gaps: true });
		expect(await at.next.seqs(3)).toEqual([7, 9, 40]);
		at.next.acked(9);
		at.next.acked(40);
		await appended;
		expect(stored).toEqual([9, 40]);
		await at.store.append('orders'.repeat(20), [], ignore);
	});

	it('names a stream whose name would be too long by a part of its digest', async () => {
		await using at = await relay();
		void at.store.lastOf('s'.repeat(128)).catch(ignore);
		const { producer } = (await at.next.opening()) as { producer: string };
		expect(producer).toMatch(/^log\.[A-Za-z0-9_-]{43}$/);
	});

	it('does not send what is there already: its acks were lost', async () => {
		await using at = await relay();
		const lost = at.store.append('orders', events(7, 9), ignore);
		await at.next.seqs(2);
		at.next.persisted = 7;
		at.next.drop();
		await expect(lost).rejects.toMatchObject({ code: 'UNAVAILABLE', message: /ended the connection/ });
		// Behind a gap that nobody knows of nothing may go.
		await expect(at.store.append('orders', events(11), ignore)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
		expect(await at.store.lastOf('orders')).toBe(7);
		const stored: number[] = [];
		const again = at.store.append('orders', events(7, 9, 11), (position) => stored.push(position));
		expect(await at.next.seqs(2)).toEqual([9, 11]);
		at.next.acked(11);
		await again;
		expect(stored).toEqual([7, 11]);
	});

	it('asks by another connection: on the call line that would void a ticket that is on its way', async () => {
		await using at = await relay();
		await at.store.lastOf('orders');
		const before = at.next.accepted;
		expect(await at.store.holds('orders', 1)).toBe(false);
		expect(at.next.accepted).toBe(before + 1);
	});

	it('has no connection for a stream that it was told to leave, and goes on where it was at the next event', async () => {
		await using at = await relay();
		const first = at.store.append('orders', events(7), ignore);
		await at.next.seqs(1);
		at.next.acked(7);
		await first;
		at.store.leave('orders');
		await at.next.left();
		const before = at.next.accepted;
		expect(await at.store.lastOf('orders')).toBe(7);
		const second = at.store.append('orders', events(7, 9), ignore);
		expect(await at.next.seqs(1)).toEqual([9]);
		at.next.acked(9);
		await second;
		expect(at.next.accepted).toBe(before + 2);
	});

	it.each([new SpockError('BAD_REQUEST', 'no such name can be'), new Error('no such name can be')])(
		'takes a failure to find the next sidecar for one of the store, and not of an event: %s',
		async (error) => {
			const store = new RelayStore({ owner: 'log', access: () => Promise.reject(error) });
			const unavailable = { code: 'UNAVAILABLE', message: expect.stringContaining('no such name can be') };
			await expect(store.append('orders', events(1), ignore)).rejects.toMatchObject(unavailable);
			await store.close();
		},
	);

	it('says that the next log has lost events, and gives it none behind them', async () => {
		await using at = await relay();
		const made = at.store.append('orders', events(7), ignore);
		await at.next.seqs(1);
		at.next.acked(7);
		await made;
		expect(await at.store.holds('orders', 7)).toBe(true);
		at.next.persisted = 3;
		expect(await at.store.holds('orders', 7)).toBe(false);
		at.next.drop();
		await expect.poll(() => at.store.lastOf('orders').catch(ignore)).toBe(3);
	});

	it('passes on what the next one refuses, once what is in front of it is on disk there', async () => {
		await using at = await relay();
		const stored: number[] = [];
		const told: string[] = [];
		const first = at.store.append('orders', events(7, 8, 9), (position) => stored.push(position));
		const second = at.store.append('orders', events(10), () => expect.unreachable('it is behind a refused one'));
		for (const call of [first, second]) call.catch((error: SpockError) => told.push(error.code));
		await at.next.seqs(4);
		// Its end may be seen before what the call line says of it.
		at.next.dropUplink();
		at.next.acked(0, [{ seq: 8, code: 'FRAME_TOO_LARGE', message: 'too long' }]);
		at.next.acked(7);
		await expect(first).rejects.toMatchObject({ code: 'FRAME_TOO_LARGE', message: /too long/ });
		await expect.poll(() => told).toEqual(['FRAME_TOO_LARGE', 'FRAME_TOO_LARGE']);
		expect(stored).toEqual([7]);
		at.next.persisted = 7;
		const rest = at.store.append('orders', events(9, 10), ignore);
		expect(await at.next.seqs(2)).toEqual([9, 10]);
		at.next.acked(10);
		await rest;
	});

	it('sends no more than the window, and goes on when it opens', async () => {
		await using at = await relay();
		at.next.window = { bytes: 1_000_000, events: 2 };
		const appended = at.store.append('orders', events(1, 2, 3, 4, 5), ignore);
		expect(await at.next.seqs(2)).toEqual([1, 2]);
		at.next.windowed({ bytes: 0, events: 0, reason: 'full' });
		at.next.acked(2);
		await new Promise<void>((resolve) => setTimeout(resolve, 50));
		expect(at.next.seqsNow()).toEqual([]);
		at.next.windowed({ bytes: 1, events: 10 });
		expect(await at.next.seqs(1)).toEqual([3]);
		at.next.windowed({ bytes: 1_000_000, events: 10 });
		expect(await at.next.seqs(2)).toEqual([4, 5]);
		at.next.acked(5);
		await appended;
	});

	it('leaves a sidecar that persists nothing, and says what that has said', async () => {
		await using at = await relay({ stallMs: 100 });
		at.next.window = { bytes: 0, events: 0, reason: 'the log is full' };
		await expect(at.store.append('orders', events(1), ignore)).rejects.toMatchObject({
			code: 'UNAVAILABLE',
			message: /persisted nothing for 100 ms: the log is full/,
		});
	});

	it('packs events where the next one can unpack them, and talks plainly where it says nothing of that', async () => {
		await using at = await relay();
		at.next.features = ['events', 'gaps'];
		void at.store.append('orders', events(1), ignore).catch(ignore);
		expect(await at.next.seqs(1)).toEqual([1]);
		expect(at.next.offered).toContain('deflate');
	});

	it.each([
		[['push', 'events'], /knows no producers with gaps: upgrade it/],
		[['push'], /takes no events: start it with --events DIR/],
	])('says what is wrong with a sidecar that has the features %j', async (features, message) => {
		await using at = await relay();
		at.next.features = features;
		await expect(at.store.lastOf('orders')).rejects.toMatchObject({ code: 'UNAVAILABLE', message });
		expect(at.next.openings).toEqual([]);
	});

	it('gives up a sidecar that does not answer, or answers with something else', async () => {
		await using at = await relay({ timeoutMs: 100 });
		at.next.answers = () => 'hold';
		await expect(at.store.lastOf('orders')).rejects.toMatchObject({ message: /did not answer hello within 100 ms/ });
		at.next.answers = () => '{"id":1,"data":{"features":["events","gaps"]}}\nnonsense';
		await expect(at.store.lastOf('orders')).rejects.toMatchObject({ message: /sent what is no message/ });
		at.next.answers = (func) => (func === 'openProducer' ? '{"id":2,"data":{"persisted":-1}}' : undefined);
		await expect(at.store.lastOf('orders')).rejects.toMatchObject({ message: /an answer of another shape/ });
		at.next.answers = (func) =>
			func === 'openProducer' ? '{"id":2,"error":{"code":"OVERLOADED","message":"too many"}}' : undefined;
		await expect(at.store.lastOf('orders')).rejects.toMatchObject({
			code: 'UNAVAILABLE',
			message: /answered OVERLOADED: too many/,
		});
	});

	it('goes elsewhere when the sidecar has left the registry', async () => {
		await using at = await relay();
		const { host, port } = at.next.access;
		const appended = at.store.append('orders', events(1), ignore);
		await at.next.seqs(1);
		for (const addresses of [[`${host}:${port}`, 'other:1'], []]) at.store.addressesChanged(addresses);
		at.next.acked(1);
		await appended;
		const left = at.store.append('orders', events(2), ignore);
		at.store.addressesChanged(['other:1']);
		await expect(left).rejects.toMatchObject({ code: 'UNAVAILABLE', message: /has left; trying another/ });
	});

	it('leaves a sidecar that asks it to, which would wait for it otherwise', async () => {
		await using at = await relay();
		const appended = at.store.append('orders', events(1), ignore);
		await at.next.seqs(1);
		at.next.goaway();
		await expect(appended).rejects.toMatchObject({ code: 'UNAVAILABLE', message: /is leaving/ });
		await at.next.left();
		expect(await at.store.lastOf('orders')).toBe(0);
	});

	it('ignores what it does not understand, and what is said of another producer', async () => {
		await using at = await relay();
		const appended = at.store.append('orders', events(1, 2), ignore);
		await at.next.seqs(2);
		const producer = 'log.orders';
		at.next.say('later', { producer });
		for (const data of [null, 7, { producer: 'other', persisted: 2 }, { producer, persisted: 'all', refused: 7 }]) {
			at.next.say('acked', data);
		}
		for (const refused of [[], [7], [{ seq: 0 }], [{ seq: 'two' }]]) {
			at.next.say('acked', { producer, persisted: 0, refused });
		}
		for (const data of [{ producer }, { producer, bytes: -1, events: 1 }, { producer, bytes: 1, events: 0.5 }]) {
			at.next.say('eventWindow', data);
		}
		at.next.acked(2);
		await appended;
	});

	it('waits on while anything is persisted, and leaves a sidecar that persists nothing more', async () => {
		await using at = await relay({ stallMs: 300 });
		const appended = at.store.append('orders', events(1, 2), ignore);
		const left = expect(appended).rejects.toMatchObject({
			message: /persisted nothing for 300 ms: it does not say why/,
		});
		await at.next.seqs(2);
		at.next.acked(1);
		await left;
		const all = at.store.lastOf('orders').then(() => at.store.append('orders', events(2), ignore));
		await at.next.seqs(1);
		at.next.acked(2);
		await all;
	});

	it('gives up a sidecar that refuses its hello without an id, or with an error of another shape', async () => {
		await using at = await relay();
		at.next.answers = () => '{"id":null,"error":{"code":"BAD_FRAME","message":"no"}}';
		await expect(at.store.lastOf('orders')).rejects.toMatchObject({ message: /answered BAD_FRAME: no/ });
		at.next.answers = () => '{"id":1,"error":7}';
		await expect(at.store.lastOf('orders')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
	});

	it('ends while it connects when it is closed', async () => {
		const at = await relay();
		at.next.answers = (func) => (func === 'openProducer' ? 'hold' : undefined);
		const asked = expect(at.store.lastOf('orders')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
		await expect.poll(() => at.next.accepted).toBe(2);
		await at.store.close();
		at.next.drop();
		await asked;
		at.next.close();
	});

	it('ends what is under way when it is closed, and takes nothing more', async () => {
		const at = await relay();
		const appended = at.store.append('orders', events(1), ignore);
		await at.next.seqs(1);
		await at.store.close();
		await expect(appended).rejects.toMatchObject({ code: 'UNAVAILABLE', message: /was closed/ });
		await expect(at.store.append('orders', events(2), ignore)).rejects.toBeInstanceOf(SpockError);
		await expect(at.store.lastOf('orders')).rejects.toMatchObject({ message: /was closed/ });
		at.next.close();
	});
});
