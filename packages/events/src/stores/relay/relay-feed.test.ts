import { encodeEvent } from '@spock/protocol';
import { settle } from '@spock/testkit';
import { expect, it } from 'vitest';

import type { LogEvent } from '../../foundation/log-record.ts';
import { RelayFeed } from './relay-feed.ts';
import type { LinkListener } from './relay-link.ts';

const KIBIBYTE = 1024;
const TEXT = encodeEvent({ stream: 'orders', payload: 'x'.repeat(32 * KIBIBYTE) });

function events(count: number): LogEvent[] {
	const same = { kind: 'event', producer: 'p', epoch: 1, stream: 'orders', key: undefined, id: undefined } as const;
	return Array.from({ length: count }, (_, index) => ({
		...{ ...same, seq: index + 1, position: index + 1, time: 1, text: TEXT },
	}));
}

it('gives a link no more than 1 MiB and an event that it has not sent, however large the window is', async () => {
	let listener: LinkListener | undefined;
	let backlog = '';
	let most = 0;
	let sent = '';
	const window = { bytes: 1_000_000_000, events: 1_000_000 };
	const feed = new RelayFeed({
		stallMs: 60_000,
		open: async (given) => {
			listener = given;
			return {
				place: { persisted: 0, window },
				get backlogBytes() {
					return backlog.length;
				},
				ask: async () => 0,
				write: (lines) => {
					backlog += lines;
					most = Math.max(most, backlog.length);
				},
				close: () => undefined,
			};
		},
	});
	const appended = feed.append(events(256), () => undefined);
	await settle();
	expect(most).toBeGreaterThan(512 * KIBIBYTE);
	while (backlog !== '') {
		sent += backlog;
		backlog = '';
		listener?.drained();
	}
	expect(most).toBeLessThan(1024 * KIBIBYTE + 33 * KIBIBYTE);
	const seqs = [...sent.matchAll(/"seq":(\d+)/g)].map(([, seq]) => Number(seq));
	expect(seqs).toEqual(Array.from({ length: 256 }, (_, index) => index + 1));
	listener?.persisted(256);
	await appended;
	feed.close();
});
