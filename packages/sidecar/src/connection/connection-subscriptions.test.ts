import type { SnapshotState, WatchedSource } from '@spock/protocol';
import { expect, it } from 'vitest';

import { ConnectionSubscriptions, type PushSink } from './connection-subscriptions.ts';

it('its revision shows that one query has replaced another, though their number is the same', () => {
	const source = {
		watch: () => ({ stop: () => undefined }),
		peek: () => ({ revision: 1, source: 'live' }),
	} as unknown as WatchedSource<string, SnapshotState>;
	const sink = { refusal: () => undefined, now: () => 0, asker: () => '' } as unknown as PushSink<SnapshotState>;
	const kind = { source, keyOf: (query: string) => query, normalise: (query: string) => query };
	const subscriptions = new ConnectionSubscriptions<string, SnapshotState>(kind, sink, 10);
	const { signal } = new AbortController();
	void subscriptions.add('barista', { signal });
	const before = [subscriptions.size, subscriptions.revision];
	void subscriptions.add('barista', { signal });
	subscriptions.remove('unknown');
	expect([subscriptions.size, subscriptions.revision]).toEqual(before);
	subscriptions.remove('barista');
	void subscriptions.add('till', { signal });
	expect(subscriptions.size).toBe(before[0]);
	expect(subscriptions.revision).toBeGreaterThan(before[1] as number);
});
