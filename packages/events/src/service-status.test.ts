import { DEAD_RETRY_GROUP } from '@spock/protocol';
import { describe, expect, it } from 'vitest';

import type { LogSegment } from './segments/segment.ts';
import { holding, holdReason, laggingGroup } from './service-status.ts';
import type { GroupPlace } from './stores/group-places.ts';

/** Segments that hold ten events of `orders` each. */
function segments(count: number): LogSegment[] {
	return Array.from({ length: count }, (_, index) => {
		const [first, last] = [index * 10 + 1, index * 10 + 10];
		const orders = { first, last, events: 10, bytes: 100, lastTime: 1 };
		return { streams: new Map([['orders', orders]]), mayHold: (_: string, from: number) => from <= last };
	}) as unknown as LogSegment[];
}

function place(group: string, position: number): GroupPlace {
	return { stream: 'orders', group, position, done: new Set(), rewinds: 0 };
}

describe('the group that keeps the oldest events', () => {
	it('is named, the furthest behind, with commands that can be given as they are', () => {
		const reason = laggingGroup(segments(2), [place('audit', 7), place('billing', 1)]);
		expect(reason).toContain('group billing of stream orders has 20 events to do');
		expect(reason).toContain('`sidecar events rewind orders billing --to new`');
		expect(reason).toContain('`sidecar events delete-group orders billing`');
	});

	it('is none where every group is past the oldest segment, or there is only one', () => {
		expect(laggingGroup(segments(2), [place('billing', 11)])).toBe('');
		expect(laggingGroup(segments(1), [place('billing', 1)])).toBe('');
	});

	it('is never the one by which dead events are published again', () => {
		const places = [{ ...place(DEAD_RETRY_GROUP, 1), stream: 'orders.dead' }, place('billing', 11)];
		expect(laggingGroup(segments(2), places)).toBe('');
		expect(holding(places).map(({ group }) => group)).toEqual(['billing']);
	});

	it('may have that name in a stream that is none of dead events', () => {
		expect(holding([place(DEAD_RETRY_GROUP, 1)])).toHaveLength(1);
	});
});

it('says what to do about each thing that keeps a full log', () => {
	const remedies = (['store', 'ids', 'retention', undefined] as const).map((hold) => holdReason(hold, [], [], false));
	expect(holdReason('ids', [], [], true)).toMatch(/make room on its disk$/);
	expect(remedies).toEqual([
		expect.stringContaining('see that it can be reached'),
		expect.stringContaining('--events-bytes-max'),
		expect.stringContaining('--events-retention-bytes'),
		'',
	]);
});
