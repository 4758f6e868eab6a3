import { FakeClock } from '@spock/testkit';
import { expect, it } from 'vitest';
import { CallQueue } from './call-queue.ts';
import { callClock, OutgoingCall, PLAIN } from './outgoing-call.ts';

const clock = new FakeClock();
const ignore = (): void => undefined;

function makeCall(func: string): OutgoingCall {
	const request = { func, tail: `,"func":"${func}"}\n`, traits: PLAIN, timeoutMs: 1000, signal: undefined };
	return new OutgoingCall(request, callClock({ clock, address: { path: '/nowhere' } }), ignore, ignore);
}

it('calls of a lost connection go before those that were made after them and have waited longer', () => {
	const waiting = new CallQueue(clock, 10, () => 'there is no connection');
	const [sentBefore, madeSince, madeLast] = [makeCall('a'), makeCall('b'), makeCall('c')];
	for (const call of [madeSince, madeLast, sentBefore]) waiting.add(call);
	expect(waiting.takeAll()).toEqual([sentBefore, madeSince, madeLast]);
	expect([waiting.count, waiting.takeAll(), clock.pendingTimers]).toEqual([0, [], 0]);
});

it('a queue that the last call has left keeps no timer', () => {
	const waiting = new CallQueue(clock, 10, () => 'there is no connection');
	const [first, second] = [makeCall('a'), makeCall('b')];
	for (const call of [first, second]) waiting.add(call);
	waiting.abandon(second);
	expect([waiting.count, clock.pendingTimers]).toEqual([1, 1]);
	expect(waiting.takeFirst()).toBe(first);
	expect([waiting.count, clock.pendingTimers]).toEqual([0, 0]);
	expect(waiting.takeFirst()).toBeUndefined();
});

it('what expires in one sweep has one reason, which is looked for once', async () => {
	let looks = 0;
	const waiting = new CallQueue(clock, 10, () => `look ${++looks}`);
	const errors: unknown[] = [];
	for (const func of ['a', 'b', 'c']) {
		const request = { func, tail: '', traits: PLAIN, timeoutMs: 10, signal: undefined };
		waiting.add(
			new OutgoingCall(request, callClock({ clock, address: { path: '/nowhere' } }), ignore, (error) =>
				errors.push(error.message),
			),
		);
	}
	await clock.advance(10);
	expect(errors).toEqual(['a', 'b', 'c'].map((func) => `${func}: no reply within 10 ms, because look 1`));
});
