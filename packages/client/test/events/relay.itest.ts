import { join } from 'node:path';

import { type RunningProcess, startSidecar, type TempSocket, tempSocket, waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { connect, createDiplomat } from '../../src/connect.ts';
import { openEvents } from '../../src/events/open-events.ts';
import type { AnyRelayedEvent, RelayOptions } from '../../src/events/produce/relay-options.ts';

/** A table in memory: ids ascend. */
class Outbox {
	readonly rows: AnyRelayedEvent[] = [];
	readonly relayed: string[] = [];
	/** Where each read began. */
	readonly reads: (string | null)[] = [];

	add(count: number, stream = 'orders'): this {
		for (let n = 0; n < count; n++) {
			const id = String(this.rows.length + 1).padStart(8, '0');
			this.rows.push({ id, stream, payload: { n: this.rows.length + 1 } });
		}
		return this;
	}

	get options(): RelayOptions {
		return {
			producer: 'outbox',
			eventsMax: 100,
			pollMs: 5,
			read: async (after, max) => {
				this.reads.push(after);
				return this.rows.filter(({ id }) => after === null || id > after).slice(0, max);
			},
			relayed: (id) => this.relayed.push(id),
		};
	}
}

async function startWithEvents(place: TempSocket, ...args: string[]): Promise<RunningProcess> {
	return startSidecar(place.path, ['--backend', 'local', '--events', join(place.directory, 'events'), ...args]);
}

/** Every `n` that is in a stream, in order. */
async function stored(place: TempSocket, count: number, stream = 'orders'): Promise<number[]> {
	await using diplomat = await connect({ path: place.path });
	const found: number[] = [];
	const events = openEvents<{ [name: string]: { n: number } }>({ diplomat });
	// A last one shows that nothing comes behind what is expected.
	await events.publish(stream, { n: -1 });
	for await (const event of events.consume(stream, { from: 'first' })) {
		event.ack();
		if (event.data.n === -1) break;
		found.push(event.data.n);
	}
	expect(found).toHaveLength(count);
	return found;
}

const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1);

describe('a relay', () => {
	it('brings an outbox to its stream, and a later one of the same name goes on behind it', async () => {
		await using place = await tempSocket();
		await using _sidecar = await startWithEvents(place);
		const outbox = new Outbox().add(1234);
		for (const rows of [1234, 2000]) {
			await using diplomat = await connect({ path: place.path });
			const stop = new AbortController();
			const relaying = openEvents({ diplomat }).relay({ ...outbox.options, signal: stop.signal });
			await waitFor('the last row', () => outbox.relayed.at(-1) === outbox.rows[rows - 1]?.id);
			stop.abort();
			await relaying;
			outbox.add(2000 - outbox.rows.length);
		}
		// The second one has read what is behind the first, and nothing else.
		expect(outbox.reads.filter((after) => after === null)).toHaveLength(1);
		expect(await stored(place, 2000)).toEqual(numbers(2000));
	});

	it('loses nothing and stores nothing twice while its sidecar is killed, and its app begins anew', async () => {
		await using place = await tempSocket();
		const outbox = new Outbox();
		let sidecar = await startWithEvents(place, '--admin', '127.0.0.1:0');
		for (let round = 0; round < 6; round++) {
			outbox.add(700);
			const diplomat = await connect({ path: place.path });
			const relaying = openEvents({ diplomat }).relay(outbox.options);
			const ended = relaying.catch((error: unknown) => error);
			const goal = outbox.rows[round * 700 + 150 * (round % 4)]?.id ?? '';
			await waitFor('some rows', () => (outbox.relayed.at(-1) ?? '') >= goal);
			if (round % 2 === 0) {
				await sidecar.stop('SIGKILL');
				sidecar = await startWithEvents(place, '--admin', '127.0.0.1:0');
				await waitFor('all rows', () => outbox.relayed.at(-1) === outbox.rows.at(-1)?.id);
			}
			// In the middle of a batch: what was sent may be on the disk, and `relayed` was not called for it.
			await diplomat.close();
			await ended;
		}
		await using diplomat = await connect({ path: place.path });
		const relaying = openEvents({ diplomat }).relay(outbox.options);
		await waitFor('all rows', () => outbox.relayed.at(-1) === outbox.rows.at(-1)?.id);
		await diplomat.drain();
		await relaying;
		expect(await stored(place, 4200)).toEqual(numbers(4200));
		// Not for their ids, which a sidecar forgets after two minutes: none was sent again to the last of them.
		const admin = /"address":"([^"]+)"/.exec(sidecar.stdout())?.[1];
		const metrics = await (await fetch(`http://${admin}/metrics`)).text();
		expect(metrics).toContain('spock_events_duplicate_total{stream="orders"} 0\n');
		await sidecar.stop();
	});

	it('an event that is refused ends it, and is read again the next time', async () => {
		await using place = await tempSocket();
		const outbox = new Outbox().add(150).add(1, 'unknown').add(100);
		{
			await using _sidecar = await startWithEvents(place, '--events-streams', 'orders');
			await using diplomat = await connect({ path: place.path });
			await expect(openEvents({ diplomat }).relay(outbox.options)).rejects.toMatchObject({
				code: 'BAD_REQUEST',
				message: expect.stringContaining('unknown'),
			});
			// Everything in front of it, and it is not told that more is relayed.
			expect(outbox.relayed).toEqual(['00000100']);
		}
		await using _sidecar = await startWithEvents(place);
		await using diplomat = await connect({ path: place.path });
		void openEvents({ diplomat }).relay(outbox.options);
		await waitFor('all rows', () => outbox.relayed.at(-1) === '00000251');
		expect(outbox.reads.includes('00000150')).toBe(true);
		expect(await stored(place, 1, 'unknown')).toEqual([151]);
		await diplomat.drain();
		// What was behind the refused one came twice, and was known by its id.
		expect(await stored(place, 250)).toEqual(numbers(251).filter((n) => n !== 151));
	});

	it('another process takes its name over: it ends with the reason', async () => {
		await using place = await tempSocket();
		await using _sidecar = await startWithEvents(place);
		const outbox = new Outbox().add(10);
		await using first = await connect({ path: place.path });
		const relaying = openEvents({ diplomat: first }).relay(outbox.options);
		const ended = relaying.catch((error: unknown) => error);
		await waitFor('the rows', () => outbox.relayed.length === 1);
		await using second = await connect({ path: place.path });
		let reads = 0;
		const read = async (): Promise<AnyRelayedEvent[]> => {
			reads++;
			return [];
		};
		void openEvents({ diplomat: second }).relay({ ...outbox.options, read });
		await waitFor('that it has begun', () => reads > 0);
		outbox.add(10);
		expect(await ended).toMatchObject({ code: 'BAD_REQUEST', message: expect.stringContaining('opened elsewhere') });
		expect(outbox.relayed).toEqual(['00000010']);
	});

	const cases: [string, Partial<RelayOptions>, RegExp][] = [
		['read rejects', { read: () => Promise.reject(new Error('no database')) }, /^no database$/],
		['read gives no array', { read: (async () => 5) as never }, /^what read gives must be an array of events, not 5/],
		['read gives no object', { read: (async () => [5]) as never }, /^an event that read gives must be an object/],
		['no id', { read: (async () => [{ stream: 'a', payload: 1 }]) as never }, /^the id of an event that read gives/],
		['no stream', { read: (async () => [{ id: '1', payload: 1 }]) as never }, /^stream must be/],
		['no payload', { read: (async () => [{ id: '1', stream: 'a' }]) as never }, /payload/],
		[
			'another member',
			{ read: (async () => [{ id: '1', stream: 'a', payload: 1, k: 2 }]) as never },
			/unknown option "k"/,
		],
		['the same again', { read: async () => [{ id: '1', stream: 'a', payload: 1 }] }, /behind "1", and gave that/],
		['relayed throws', { relayed: () => Promise.reject(new Error('no delete')) }, /^no delete$/],
	];

	it('ends with what is wrong with its outbox', async () => {
		await using place = await tempSocket();
		await using _sidecar = await startWithEvents(place);
		await using diplomat = await connect({ path: place.path });
		for (const [name, options, message] of cases) {
			const outbox = new Outbox().add(3);
			const producer = name.replaceAll(' ', '-');
			const relaying = openEvents({ diplomat }).relay({ ...outbox.options, producer, ...options });
			await expect(relaying, name).rejects.toThrow(message);
		}
	});

	it('ends where the sidecar takes no events', async () => {
		await using place = await tempSocket();
		await using _sidecar = await startSidecar(place.path, ['--backend', 'local']);
		await using diplomat = await connect({ path: place.path });
		const relaying = openEvents({ diplomat }).relay(new Outbox().options);
		await expect(relaying).rejects.toMatchObject({ code: 'UNKNOWN_FUNC' });
	});

	it('is stopped by its signal, by drain and by close, also while read hangs or before the sidecar is there', async () => {
		await using place = await tempSocket();
		await using _sidecar = await startWithEvents(place);
		const hanging = { ...new Outbox().options, read: () => new Promise<never>(() => undefined) };
		await using diplomat = await connect({ path: place.path });
		const events = openEvents({ diplomat });
		await events.relay({ ...hanging, signal: AbortSignal.abort() });
		const stop = new AbortController();
		const relaying = events.relay({ ...hanging, signal: stop.signal });
		await diplomat.ping();
		stop.abort();
		await relaying;
		const drained = events.relay(hanging);
		await events.drain();
		await drained;
		expect(() => events.relay(hanging)).toThrow(/closed/);
		const other = openEvents({ diplomat });
		const closed = other.relay(hanging);
		await other.close();
		await closed;
	});

	it.each([
		[{ producer: 'a b' }, /^producer must be 1 to 128 letters/],
		[{ read: 5 }, /^read must be a function/],
		[{ relayed: 5 }, /^relayed must be a function/],
		[{ until: 'accepted' }, /^until must be/],
		[{ eventsMax: 0 }, /^eventsMax must be an integer from 1/],
		[{ pollMs: -1 }, /^pollMs must be/],
		[{ signal: 5 }, /^signal must be/],
		[{ poll: 5 }, /unknown option "poll"; did you mean "pollMs"/],
	])('%j throws at the call', async (options, message) => {
		await using diplomat = createDiplomat({ path: '/nowhere/sidecar.sock' });
		const events = openEvents({ diplomat });
		expect(() => events.relay({ ...new Outbox().options, ...(options as object) })).toThrow(message);
		await diplomat.close();
	});
});
