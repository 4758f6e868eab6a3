import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';

import { FakeClock } from '@spock/testkit';
import { expect, it } from 'vitest';

import type { StatusSample } from './status-model.ts';
import { StatusStreams } from './status-streams.ts';

/** A reader that takes what it is told, or not. */
class Reader extends EventEmitter {
	readonly text: string[] = [];
	writableNeedDrain = false;
	isDestroyed = false;
	status = 0;

	writeHead(status: number): void {
		this.status = status;
	}

	write(text: string): void {
		this.text.push(text);
	}

	end(text: string): void {
		this.text.push(text);
		this.emit('close');
	}

	destroy(): void {
		this.isDestroyed = true;
		this.emit('close');
	}

	/** Events that have come since the last call, by name. */
	events(): Record<string, unknown>[] {
		return this.text
			.splice(0)
			.join('')
			.split('\n\n')
			.flatMap((event) => {
				const [, name, data] = /^event: (\w+)\ndata: (.*)$/.exec(event) ?? [];
				return name === undefined ? [] : [{ [name]: JSON.parse(data ?? 'null') as unknown }];
			});
	}
}

function createStreams() {
	const clock = new FakeClock();
	const failures: unknown[] = [];
	const state = {
		services: ['a'],
		revision: 1,
		changes: 1,
		clients: 1,
		events: null as object | null,
		failure: undefined as Error | undefined,
	};
	const current = (): StatusSample => {
		if (state.failure !== undefined) throw state.failure;
		const rows = state.services.map((key) => [key, { view: {}, text: `{"key":"${key}","r":${state.revision}}` }]);
		const changes = Array.from({ length: state.changes }, (_, index) => ({ id: index + 1, sequence: index + 1 }));
		const connections = { count: state.clients, rows: [] };
		return {
			overview: { at: clock.now() },
			services: new Map(rows as []),
			connections,
			events: state.events,
			registrations: [],
			keys: [],
			changes,
		} as unknown as StatusSample;
	};
	const streams = new StatusStreams({ current }, clock, (error) => failures.push(error));
	const open = (): Reader => {
		const reader = new Reader();
		const refusal = streams.open(reader as unknown as ServerResponse);
		if (refusal !== undefined) reader.status = refusal.status;
		return reader;
	};
	return { clock, state, streams, open, failures };
}

const names = (events: Record<string, unknown>[]): string[] => events.flatMap((event) => Object.keys(event));

it('tells everything at first, then the time every second, and else only what is new', async () => {
	const { clock, state, open } = createStreams();
	const reader = open();
	expect(names(reader.events())).toEqual(['overview', 'services', 'connections', 'registrations', 'keys', 'changes']);
	await clock.advance(1000);
	expect(names(reader.events())).toEqual(['overview']);
	state.services = ['b'];
	state.changes = 3;
	await clock.advance(1000);
	expect(reader.events().slice(1)).toEqual([
		{ services: { rows: [{ key: 'b', r: 1 }], gone: ['a'] } },
		{
			changes: [
				{ id: 2, sequence: 2 },
				{ id: 3, sequence: 3 },
			],
		},
	]);
});

it('events are told where they are on, and as they change', async () => {
	const { clock, state, open } = createStreams();
	state.events = { state: 'receiving' };
	const reader = open();
	expect(reader.events()).toContainEqual({ events: { state: 'receiving' } });
	await clock.advance(1000);
	expect(names(reader.events())).toEqual(['overview']);
	state.events = { state: 'blocked' };
	await clock.advance(1000);
	expect(reader.events().slice(1)).toEqual([{ events: { state: 'blocked' } }]);
});

it('a reader that does not read is told the newest state alone when it does, and nothing is kept for it', async () => {
	const { clock, state, open } = createStreams();
	const [slow, quick] = [open(), open()];
	slow.events();
	slow.writableNeedDrain = true;
	for (let revision = 2; revision <= 20; revision++) {
		state.revision = revision;
		await clock.advance(1000);
	}
	expect(slow.text).toEqual([]);
	expect(names(quick.events()).filter((name) => name === 'services')).toHaveLength(20);
	slow.writableNeedDrain = false;
	await clock.advance(1000);
	expect(slow.events()[1]).toEqual({ services: { rows: [{ key: 'a', r: 20 }], gone: [] } });
});

it('a reader that takes nothing for half a minute is cut off', async () => {
	const { clock, streams, open } = createStreams();
	const reader = open();
	reader.writableNeedDrain = true;
	await clock.advance(30_000);
	expect(reader.isDestroyed).toBe(false);
	await clock.advance(2000);
	expect([reader.isDestroyed, streams.size, clock.pendingTimers]).toEqual([true, 0, 0]);
});

it('there are at most 16 readers; a place is free again when one leaves, and no timer runs for nobody', async () => {
	const { clock, streams, open } = createStreams();
	const readers = Array.from({ length: 16 }, open);
	expect(open().status).toBe(503);
	readers[0]?.destroy();
	expect(open().status).toBe(200);
	streams.close();
	streams.close();
	expect(readers[1]?.text.at(-1)).toBe('event: end\ndata: {}\n\n');
	expect([streams.size, clock.pendingTimers]).toEqual([0, 0]);
});

it('a fault of the page ends the streams, is told, and nothing else', async () => {
	const { clock, state, open, failures, streams } = createStreams();
	const reader = open();
	state.failure = new Error('ours');
	await clock.advance(1000);
	expect([failures, streams.size, clock.pendingTimers]).toEqual([[state.failure], 0, 0]);
	expect(reader.text.at(-1)).toContain('event: end');
});
