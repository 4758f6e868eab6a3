import { expect, it } from 'vitest';

import { StatusEvents } from './status-events.ts';

const event = (name: string, data: unknown): string => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
const FIRST = [
	'retry: 1000\n\n',
	event('overview', { at: 1 }),
	event('services', { rows: [{ key: 'a' }, { key: 'b' }], gone: [] }),
	event('connections', { count: 0, rows: [] }),
	event('registrations', [{ service: 'a' }]),
	event('keys', [{ key: 'k' }]),
	event('changes', [{ id: 1 }, { id: 2 }]),
].join('');

it('has a view when every part has come, in whatever pieces', () => {
	const events = new StatusEvents();
	const pieces = FIRST.match(/[\s\S]{1,7}/g) as string[];
	const complete = pieces.map((piece) => {
		events.read(piece);
		return events.view !== undefined;
	});
	expect(complete.indexOf(true)).toBe(pieces.length - 1);
	expect(events.view).toEqual({
		overview: { at: 1 },
		services: [{ key: 'a' }, { key: 'b' }],
		connections: { count: 0, rows: [] },
		events: null,
		registrations: [{ service: 'a' }],
		keys: [{ key: 'k' }],
		changes: [{ id: 1 }, { id: 2 }],
	});
});

it('later events replace rows, take out what is gone, and put a change that grew at the end', () => {
	const events = new StatusEvents();
	events.read(FIRST);
	const isNews = events.read(
		event('overview', { at: 2 }) +
			event('services', { rows: [{ key: 'b', healthy: 3 }, { key: 'c' }], gone: ['a'] }) +
			event('changes', [{ id: 1, count: 2 }]),
	);
	expect(isNews).toBe(true);
	expect(events.view).toMatchObject({
		overview: { at: 2 },
		services: [{ key: 'b', healthy: 3 }, { key: 'c' }],
		changes: [{ id: 2 }, { id: 1, count: 2 }],
	});
	expect(events.read('event: over')).toBe(false);
});

it('keeps the last 200 changes', () => {
	const events = new StatusEvents();
	events.read(FIRST);
	const ids = Array.from({ length: 250 }, (_, index) => ({ id: index + 3 }));
	events.read(event('changes', ids));
	expect(events.view?.changes).toHaveLength(200);
	expect(events.view?.changes.at(-1)).toEqual({ id: 252 });
});
