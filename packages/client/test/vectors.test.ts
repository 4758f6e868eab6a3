import { readFileSync } from 'node:fs';

import { FakeClock } from '@spock/testkit';
import { describe, expect, it } from 'vitest';
import { callClock, OutgoingCall, PLAIN } from '../src/calls/outgoing-call.ts';
import { RequestChannel } from '../src/calls/request-channel.ts';

interface Vector {
	readonly rule: string;
	readonly frame: string;
	readonly message: {
		readonly kind: 'reply' | 'failure' | 'push' | 'fault';
		readonly id?: number | null;
		readonly data?: unknown;
		readonly event?: string;
		readonly error?: { readonly code: string };
	};
}

const vectors = readFileSync(new URL('../../protocol/vectors/sidecar-messages.ndjson', import.meta.url), 'utf8')
	.split('\n')
	.filter((line) => line !== '')
	.map((line) => JSON.parse(line) as Vector);

/** A channel with one call in flight under `id`, and what it told. */
function channelWithCall(id: number) {
	const told: string[] = [];
	const clock = new FakeClock();
	const channel = new RequestChannel(
		{
			write: () => undefined,
			bufferedBytes: () => 0,
			push: ({ event, data }) => told.push(`push ${event} ${JSON.stringify(data)}`),
			fault: (kind) => told.push(kind),
			timedOut: () => undefined,
			emptied: () => undefined,
		},
		clock,
		{ inFlightMax: 4, pendingOutputBytesMax: 1000, waitingMax: 4, whileNarrowed: 'wait', firstId: id },
	);
	const settled = new Promise((resolve, reject) => {
		channel.send(
			new OutgoingCall(
				{ func: 'ping', tail: ',"func":"ping"}\n', traits: PLAIN, timeoutMs: 100, signal: undefined },
				callClock({ clock, address: { path: '/nowhere' } }),
				resolve,
				reject,
			),
		);
	});
	settled.catch(() => undefined);
	return { channel, told, settled };
}

describe('vectors: what a client makes of a frame', () => {
	it('there are vectors', () => expect(vectors.length).toBeGreaterThan(20));

	it.each(vectors)('$rule', async ({ frame, message }) => {
		const { kind, id, data, event, error } = message;
		const { channel, told, settled } = channelWithCall(typeof id === 'number' ? id : 1);
		channel.receive(frame);
		if (kind === 'reply') {
			expect(await settled).toEqual(data);
			expect(told).toEqual([]);
		} else if (kind === 'failure' && id !== null) {
			await expect(settled).rejects.toMatchObject({ code: error?.code });
			expect(told).toEqual([]);
		} else {
			// Whatever it is, the call in flight goes on.
			expect(channel.inFlight).toBe(1);
			const wanted =
				kind === 'push'
					? `push ${event} ${JSON.stringify(data)}`
					: kind === 'fault'
						? 'frame'
						: 'failure without a request';
			expect(told).toEqual([wanted]);
		}
	});
});
