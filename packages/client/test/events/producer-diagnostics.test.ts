import { subscribe, unsubscribe } from 'node:diagnostics_channel';

import { afterEach, describe, expect, it } from 'vitest';

import { ModelSidecar } from './model-sidecar.ts';
import { calm, simulateEvents } from './simulated-events.ts';

const stops: (() => void)[] = [];

afterEach(() => {
	for (const stop of stops.splice(0)) stop();
});

/** Messages of this channel, from now on. */
function listen(name: string): object[] {
	const heard: object[] = [];
	const listener = (message: unknown): void => void heard.push(message as object);
	subscribe(`spock:client:${name}`, listener);
	stops.push(() => void unsubscribe(`spock:client:${name}`, listener));
	return heard;
}

describe('the channels of producers', () => {
	it('tell its states', async () => {
		const states = listen('producer:state');
		const { events, sidecar, network, diplomat } = await simulateEvents();
		events.emit('a', 1);
		await calm();
		network.away = true;
		sidecar.drop();
		await calm();
		const of = { producer: 'tester', error: null };
		expect(states).toEqual([
			{ ...of, from: 'away', to: 'opening', event: 'adopted' },
			{ ...of, from: 'opening', to: 'idle', event: 'opened, none kept' },
			{ ...of, from: 'idle', to: 'can send', event: 'emitted' },
			{ ...of, from: 'can send', to: 'idle', event: 'acked, none left' },
			{ ...of, from: 'idle', to: 'away', event: 'lost' },
		]);
		await diplomat.close();
	});

	it('tell how far its events have come, which were refused, and how much may be sent', async () => {
		const [progress, refused, windows] = [
			listen('producer:progress'),
			listen('event:refused'),
			listen('producer:window'),
		];
		const sidecar = new ModelSidecar({ acks: false });
		const { events, diplomat } = await simulateEvents({ sidecar });
		for (const payload of [1, 2, 3]) events.emit('a', payload);
		await calm();
		sidecar.persist(2, [{ seq: 2, code: 'ACL_DENIED' }]);
		sidecar.setWindow(0, 'the disk is full');
		sidecar.setWindow(100);
		await calm();
		expect(progress.at(-1)).toEqual({ producer: 'tester', persisted: 2, kept: 1 });
		expect(refused).toMatchObject([
			{ producer: 'tester', stream: 'a', seq: 2, code: 'ACL_DENIED', error: { code: 'ACL_DENIED' } },
		]);
		expect(windows).toEqual([
			{ producer: 'tester', bytes: 0, events: 0, reason: 'the disk is full' },
			{ producer: 'tester', bytes: 100, events: 4096, reason: null },
		]);
		await diplomat.close();
	});
});

describe('a push that says what cannot be', () => {
	it.each([
		['acked', { producer: 5 }],
		['acked', { epoch: 'one' }],
		['acked', { persisted: -1 }],
		['acked', { persisted: 99 }],
		['eventWindow', { bytes: 'many', events: 1 }],
		['eventWindow', { bytes: 1 }],
	])('%s %j is reported, and changes nothing', async (event, data) => {
		const { events, sidecar, diplomat } = await simulateEvents({ sidecar: new ModelSidecar({ acks: false }) });
		events.emit('a', 1);
		await calm();
		const before = events.status();
		sidecar.tell(event, data);
		await calm();
		const faults = listen('fault');
		sidecar.tell(event, data);
		await calm();
		expect(faults).toMatchObject([{ kind: 'push', message: `${event} that says what cannot be` }]);
		expect(events.status()).toEqual(before);
		await diplomat.close();
	});

	it.each([
		['acked', { producer: 'another', persisted: 1 }],
		['acked', { epoch: 2, persisted: 1 }],
		['of a later version', { persisted: 1 }],
	])('%s %j is of somebody else, or of a later version, and no fault', async (event, data) => {
		const faults = listen('fault');
		const { events, sidecar, diplomat } = await simulateEvents({ sidecar: new ModelSidecar({ acks: false }) });
		events.emit('a', 1);
		await calm();
		sidecar.tell(event, data);
		await calm();
		expect(faults).toEqual([]);
		expect(events.status().persisted).toBe(0);
		await diplomat.close();
	});

	it('an entry of it that is wrong is passed over; one without its reason has one', async () => {
		const sidecar = new ModelSidecar({ acks: false });
		const { events, diplomat } = await simulateEvents({ sidecar });
		const rejected = events.publish('a', 1).catch((error: unknown) => error);
		await calm();
		sidecar.tell('acked', { persisted: 1, stored: { a: 'all' }, refused: [5, { seq: 'x' }, { seq: 1 }] });
		expect(await rejected).toMatchObject({
			code: 'INTERNAL',
			message: 'an event was refused: no reason was given',
		});
		expect(events.status()).toMatchObject({ refused: 1, stored: { a: 0 } });
		await diplomat.close();
	});
});

describe('an answer to openProducer that cannot be', () => {
	it.each([
		['without an epoch', { epoch: undefined }, 'the answer has the wrong shape'],
		['with an empty ticket', { ticket: '' }, 'the answer has the wrong shape'],
		['without a ticket', { ticket: 5 }, 'the answer has the wrong shape'],
		['without a number', { persisted: 'all' }, 'the answer has the wrong shape'],
		['without a window', { window: null }, 'the answer has the wrong shape'],
		['with a window that is none', { window: { bytes: 1, events: -1 } }, 'the answer has the wrong shape'],
		['of another epoch', { epoch: 7 }, 'this producer has the epoch 1, not 7'],
		['with events never emitted', { persisted: 3 }, 'it has events up to 3, but 1 were emitted'],
		['with fewer than before', { persisted: 0 }, 'events up to 1 were persisted and are forgotten here, but it has 0'],
	])('%s is refused, and said in the status; the next connection is asked again', async (_, answer, message) => {
		const { events, sidecar, clock, diplomat } = await simulateEvents();
		events.emit('a', 1);
		await calm();
		sidecar.answer = answer;
		sidecar.drop();
		await clock.advance(5000);
		await calm();
		expect(events.status()).toMatchObject({ lastError: `openProducer: ${message}` });
		sidecar.answer = {};
		sidecar.drop();
		await clock.advance(5000);
		await calm();
		events.emit('a', 2);
		await calm();
		expect(sidecar.payloads).toEqual([1, 2]);
		await diplomat.close();
	});

	it('one that does not say how long an event may be leaves the limit of the protocol', async () => {
		const sidecar = new ModelSidecar();
		sidecar.answer = { eventBytesMax: undefined };
		const { events, diplomat } = await simulateEvents({ sidecar });
		events.emit('a', 'x'.repeat(500_000));
		expect(() => events.emit('a', 'x'.repeat(525_000))).toThrow(/is over the limit of 524288/);
		await diplomat.close();
	});
});
