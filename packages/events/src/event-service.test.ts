import { FakeClock, settle } from '@spock/testkit';
import { SimClaims, SimDisk, SimFiles, type SimOwner } from '@spock/testkit/sim-files';
import { describe, expect, it } from 'vitest';

import { EventService } from './event-service.ts';
import type { Delivery } from './foundation/event-sessions.ts';
import type { EventsObserver } from './foundation/events-observer.ts';
import type { EventServiceLimits } from './service-options.ts';

const MINUTE_MS = 60_000;
/** Sixteen of them fill a log of the least size. */
const LONG = 'x'.repeat(500_000);

interface House {
	readonly files?: SimFiles;
	readonly owner?: SimOwner;
	readonly takeOver?: boolean;
}

async function openService(observer: EventsObserver = {}, limits: EventServiceLimits = {}, house: House = {}) {
	const clock = new FakeClock();
	const service = new EventService({
		directory: '/log',
		files: house.files ?? new SimFiles(new SimDisk()),
		owner: house.owner ?? new SimClaims().owner(),
		clock,
		random: () => 0.5,
		limits: { bytesMax: 8 * 1024 * 1024, freeBytesMin: 0, retentionMs: 5 * MINUTE_MS, ...limits },
		observer,
	});
	await service.open(house.takeOver === true);
	let ids = 0;
	const publish = async (payload: unknown, stream = 'orders', id?: string): Promise<void> => {
		await service.publish({ stream, payload, ...(id !== undefined && { id }) });
		await settle();
	};
	/** Publishes until the log is full; gives why it is. */
	const fill = async ({ withIds = false } = {}): Promise<string> => {
		for (let count = 0; count < 20; count++) {
			const error = await publish(LONG, 'orders', withIds ? `${ids++}` : undefined).catch((reason: Error) => reason);
			if (error instanceof Error) return error.message;
		}
		return 'the log is not full';
	};
	return { service, clock, publish, fill };
}

class Sink {
	readonly events: Delivery[] = [];

	deliver(events: readonly Delivery[]): void {
		this.events.push(...events);
	}

	closed(): void {}
}

describe('a log that is full', () => {
	it('says which group keeps its oldest events and how to skip them, and takes events again once that is done', async () => {
		const blocked: (string | null)[] = [];
		const trimmed: number[] = [];
		const { service, clock, publish, fill } = await openService({
			blocked: (reason) => blocked.push(reason),
			trimmed: (below) => trimmed.push(below),
		});
		await publish(1, 'clicks');
		const clicks = { stream: 'clicks', group: 'counting', from: 'first' } as const;
		await service.openConsumer(clicks, new Sink());
		const consumer = await service.openConsumer({ stream: 'orders', group: 'billing', from: 'first' }, new Sink());
		await service.openConsumer({ stream: 'orders', group: 'later', from: 'new' }, new Sink());
		const reason = await fill();
		expect(reason).toMatch(/group counting of stream clicks has 1 events to do/);
		expect(reason).toContain('sidecar events rewind clicks counting --to new');
		expect(blocked).toHaveLength(1);
		const groups = service.status().groups.map(({ group, lag }) => [group, (lag ?? 0) > 1]);
		expect(groups.sort()).toEqual([
			['billing', true],
			['counting', false],
			['later', true],
		]);
		consumer.close();
		await service.rewindGroup({ stream: 'clicks', group: 'counting', to: 'new' });
		await service.rewindGroup({ stream: 'orders', group: 'billing', to: 'new' });
		await service.rewindGroup({ stream: 'orders', group: 'later', to: 'new' });
		await clock.advance(1000);
		await settle();
		expect(blocked.at(-1)).toBeNull();
		expect(trimmed.length).toBeGreaterThan(0);
		await publish(1);
	});

	it('says in its status, and to who publishes, what holds it now, and not what held it when it became full', async () => {
		const { service, clock, publish, fill } = await openService();
		await publish(1, 'clicks');
		await service.openConsumer({ stream: 'clicks', group: 'counting', from: 'first' }, new Sink());
		await service.openConsumer({ stream: 'orders', group: 'billing', from: 'first' }, new Sink());
		await fill();
		expect(service.status().reason).toContain('group counting of stream clicks has 1 events to do');
		await service.rewindGroup({ stream: 'clicks', group: 'counting', to: 'new' });
		const held = /the log is full.*group billing of stream orders has \d+ events/;
		expect(service.status().reason).toMatch(held);
		await clock.advance(10_000);
		expect(await publish(1).catch((error: Error) => error.message)).toMatch(held);
		await service.rewindGroup({ stream: 'orders', group: 'billing', to: 'new' });
		expect(service.status()).toMatchObject({ state: 'receiving', reason: null });
	});

	it('keeps ids for two minutes, says so, and takes events again then', async () => {
		const { service, clock, publish, fill } = await openService();
		const reason = await fill({ withIds: true });
		expect(reason).toMatch(/events with an id are kept for two minutes/);
		expect(service.status().reason).toMatch(/^the log is full.*with an id/);
		await clock.advance(MINUTE_MS);
		expect(service.status().state).toBe('blocked');
		await clock.advance(2 * MINUTE_MS);
		await settle();
		await publish(1);
	});

	it('takes events again within a second where no group needs what it holds, and no event has an id', async () => {
		const { service, clock, publish, fill } = await openService();
		expect(await fill()).toMatch(/^no events are taken.*the log is full: it has \d+ bytes, and may have \d+$/);
		await clock.advance(1000);
		await settle();
		expect(service.status()).toMatchObject({ state: 'receiving', reason: null });
		await publish(1);
	});

	it('says that events are to be kept for a time where that is why', async () => {
		const files = new SimFiles(new SimDisk());
		const { publish, clock, service } = await openService(
			{},
			{ freeBytesMin: 1, retentionBytes: 8 * 1024 * 1024 },
			{ files },
		);
		for (let count = 0; count < 8; count++) await publish(LONG);
		files.space = async () => ({ freeBytes: 0, totalBytes: 1 });
		while (service.status().state === 'receiving') await publish(LONG);
		const refused = await publish(1).catch((error: Error) => error.message);
		expect(refused).toMatch(/the disk is full: 0 bytes are left.*its events are kept for a time/);
		files.space = async () => ({ freeBytes: 1, totalBytes: 1 });
		await clock.advance(1000);
		await settle();
		await publish(1);
	});
});

describe('the status', () => {
	it('has the streams by name, and what each group has to do', async () => {
		const { service, publish } = await openService();
		for (const stream of ['orders', 'clicks', 'orders', 'payments']) await publish(1, stream);
		await service.openConsumer({ stream: 'payments' }, new Sink());
		for (const stream of ['orders', 'clicks']) {
			await service.openConsumer({ stream, group: 'billing', from: 'first' }, new Sink());
		}
		const { streams, groups } = service.status();
		expect(streams.map(({ stream, events, first, last }) => ({ stream, events, first, last }))).toEqual([
			{ stream: 'clicks', events: 1, first: 2, last: 2 },
			{ stream: 'orders', events: 2, first: 1, last: 3 },
			{ stream: 'payments', events: 1, first: 4, last: 4 },
		]);
		expect(groups.map(({ stream, lag }) => [stream, lag]).sort()).toEqual([
			['clicks', 1],
			['orders', 2],
		]);
	});
});

describe('a member of a group', () => {
	it('that wants another filter than the group gets an error that shows both, as far as they are short', async () => {
		const { service } = await openService();
		const filter = { keys: Array.from({ length: 256 }, (_, index) => `key-${index}`) };
		await service.openConsumer({ stream: 'orders', group: 'billing', filter }, new Sink());
		const other = service.openConsumer({ stream: 'orders', group: 'billing' }, new Sink());
		await expect(other).rejects.toMatchObject({
			code: 'BAD_REQUEST',
			message: expect.stringMatching(/filter \{"keys":\["key-0",.{150,200}…, and the new member wants \{\};/) as string,
			details: { path: 'filter' },
		});
	});
});

describe('what is reported', () => {
	it('tells a redelivery from a first one', async () => {
		const told: unknown[] = [];
		const { service, clock, publish } = await openService({
			delivered: (...what) => told.push(['delivered', ...what]),
			redelivered: (...what) => told.push(['redelivered', ...what]),
		});
		const sink = new Sink();
		const consumer = await service.openConsumer({ stream: 'orders', group: 'billing' }, sink);
		await publish(1);
		await settle();
		consumer.nack([1], 10);
		await clock.advance(10);
		await settle();
		expect(sink.events.map(({ delivery }) => delivery)).toEqual([1, 2]);
		expect(told).toEqual([
			['delivered', 'orders', 'billing', 1],
			['delivered', 'orders', 'billing', 1],
			['redelivered', 'orders', 'billing', 1],
		]);
	});
});

describe('the end of a service', () => {
	it('rejects what waits for a disk that hangs, and counts it', async () => {
		const left: number[] = [];
		const clock = new FakeClock();
		const files = new SimFiles(new SimDisk());
		const service = new EventService({
			directory: '/log',
			files,
			owner: new SimClaims().owner(),
			clock,
			random: () => 0.5,
			observer: { leftAtExit: (records) => left.push(records) },
		});
		await service.open(false);
		files.before = (operation) => (operation === 'sync' ? new Promise(() => undefined) : undefined);
		const publish = service.publish({ stream: 'orders', payload: 1 });
		publish.catch(() => undefined);
		await settle();
		const closed = service.close(5000);
		await clock.advance(5000);
		await closed;
		await expect(publish).rejects.toMatchObject({ code: 'UNAVAILABLE' });
		expect(left).toEqual([1]);
	});
});

describe('a service that lost its log', () => {
	async function lose() {
		const disk = new SimDisk();
		const claims = new SimClaims();
		const files = new SimFiles(disk);
		const removed: string[] = [];
		files.before = (operation, path) => {
			if (operation === 'remove') removed.push(path);
			return undefined;
		};
		const blocked: (string | null)[] = [];
		const observer: EventsObserver = { blocked: (reason) => blocked.push(reason) };
		const lost = await openService(observer, { bytesMax: 64 * 1024 * 1024 }, { files, owner: claims.owner() });
		// More than one segment, so that there is one to delete.
		for (let count = 0; count < 40; count++) await lost.publish(LONG);
		const next = await openService({}, {}, { files: new SimFiles(disk), owner: claims.owner(), takeOver: true });
		const outcome = await lost.publish('not taken').catch((error: Error) => error);
		expect(outcome).toBeInstanceOf(Error);
		expect(lost.service.status().state).toBe('released');
		return { ...lost, next, removed, blocked };
	}

	it('deletes none of its files, however old they become', async () => {
		const { clock, removed } = await lose();
		removed.length = 0;
		for (let minutes = 0; minutes < 20; minutes++) {
			await clock.advance(MINUTE_MS);
			await settle();
		}
		expect(removed).toEqual([]);
	});

	it('does not report itself blocked: its successor would never report the end of it', async () => {
		const { blocked } = await lose();
		expect(blocked).toEqual([]);
	});
});

describe('a start', () => {
	it('knows ids of older segments, and of all else there only what the newest checkpoint says', async () => {
		const disk = new SimDisk();
		const before = await openService({}, {}, { files: new SimFiles(disk) });
		await before.publish('first', 'orders', 'some id');
		const group = { stream: 'orders', group: 'billing' } as const;
		const consumer = await before.service.openConsumer({ ...group, from: 'first' }, new Sink());
		await before.publish('more', 'orders', 'another id');
		await consumer.close();
		for (let count = 0; count < 4; count++) await before.publish(LONG);
		// In a segment that the start does not read.
		await before.service.deleteGroup(group);
		for (let count = 0; count < 4; count++) await before.publish(LONG);
		const { service, publish } = await openService({}, {}, { files: new SimFiles(disk.clone()) });
		const events = (): number | undefined => service.status().streams[0]?.events;
		expect([service.status().groups, events()]).toEqual([[], 10]);
		for (const id of ['some id', 'another id']) await publish('again', 'orders', id);
		expect(events()).toBe(10);
	});
});
