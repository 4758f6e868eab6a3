import { FakeClock } from '@spock/testkit';
import { expect, it } from 'vitest';
import { CallQueue } from './call-queue.ts';
import { callClock, OutgoingCall, PLAIN } from './outgoing-call.ts';
import { RequestChannel } from './request-channel.ts';

const clock = new FakeClock();
const ignore = (): void => undefined;

function makeCall(func: string, resolve: (value: unknown) => void = ignore): OutgoingCall {
	const request = { func, tail: `,"func":"${func}"}\n`, traits: PLAIN, timeoutMs: 1000, signal: undefined };
	return new OutgoingCall(request, callClock({ clock, address: { path: '/nowhere' } }), resolve, ignore);
}

it('calls of a lost connection go before those that were made after them and have waited longer', () => {
	const waiting = new CallQueue(clock, 10, () => 'there is no connection');
	const [sentBefore, madeSince, madeLast] = [makeCall('a'), makeCall('b'), makeCall('c')];
	for (const call of [madeSince, madeLast, sentBefore]) waiting.add(call);
	expect(waiting.takeAll()).toEqual([sentBefore, madeSince, madeLast]);
});

it('a call that is made by the end of another one does not overtake those that wait for the window', () => {
	const written: string[] = [];
	const port = {
		write: (line: string) => written.push(line),
		bufferedBytes: () => 0,
		push: ignore,
		fault: ignore,
		timedOut: ignore,
		emptied: ignore,
	};
	const channel = new RequestChannel(port, clock, { inFlightMax: 4, pendingOutputBytesMax: 1000 });
	channel.setWindow(1);
	channel.send(makeCall('first', () => channel.send(makeCall('third'))));
	channel.send(makeCall('second'));
	for (const id of [1, 2]) channel.receiveNumbered(id, ',"data":null}');
	expect(written.map((line) => (JSON.parse(line) as { func: string }).func)).toEqual(['first', 'second', 'third']);
	channel.takeAll();
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
