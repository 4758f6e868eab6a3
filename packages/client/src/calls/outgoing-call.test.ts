import { encodeTrace, SpockError } from '@spock/protocol';
import { FakeClock } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { BACKGROUND, callClock, makeTraits, OutgoingCall, PLAIN, QUESTION, timeLeft } from './outgoing-call.ts';

const ADDRESS = { path: '/nowhere' };
const ignore = (): void => undefined;

describe('what is left of the time of several steps', () => {
	it('is a whole number of at least 1, whatever the steps before have taken', () => {
		const clock = new FakeClock();
		const left = timeLeft({ timeoutMs: 100 }, { clock, timeoutMs: 5000 });
		expect(left()).toEqual({ timeoutMs: 100 });
		clock.work(50.5);
		expect(left()).toEqual({ timeoutMs: 49 });
		clock.work(1000);
		expect(left()).toEqual({ timeoutMs: 1 });
	});

	it('is of the default where none is given, and keeps the other options', () => {
		const clock = new FakeClock();
		const { signal } = new AbortController();
		expect(timeLeft({ signal }, { clock, timeoutMs: 5000 })()).toEqual({ signal, timeoutMs: 5000 });
	});
});

describe('a call that is sent again, or after a wait', () => {
	const trace = encodeTrace({ traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, tracestate: undefined });

	it.each(['', trace])('asks for what is wanted now, within the trace that it was made in (%j)', (members) => {
		const traits = makeTraits({ again: () => 'new' });
		const request = { func: 'ping', tail: `${members}old`, traits, timeoutMs: 100, signal: undefined };
		const clock = callClock({ clock: new FakeClock(), address: ADDRESS });
		const call = new OutgoingCall(request, clock, ignore, ignore);
		call.renew();
		expect(call.tail).toBe(`${members}new`);
	});

	it('asks for the same again if its kind names nothing newer', () => {
		const request = { func: 'ping', tail: 'old', traits: QUESTION, timeoutMs: 100, signal: undefined };
		const call = new OutgoingCall(request, callClock({ clock: new FakeClock(), address: ADDRESS }), ignore, ignore);
		call.sent = true;
		call.renew();
		expect(call.tail).toBe('old');
	});
});

describe('a call that has ended', () => {
	it('is not settled again', () => {
		const clock = callClock({ clock: new FakeClock(), address: ADDRESS });
		const request = { func: 'ping', tail: '', traits: PLAIN, timeoutMs: 100, signal: undefined };
		const failure = new SpockError('UNAVAILABLE', 'no');
		for (const first of ['value', 'error']) {
			const ends: string[] = [];
			const call = new OutgoingCall(
				request,
				clock,
				() => ends.push('value'),
				() => ends.push('error'),
			);
			expect(call.ended).toBe(false);
			if (first === 'error') call.reject(failure);
			call.resolve(1);
			call.reject(failure);
			expect([call.ended, ends]).toEqual([true, [first]]);
		}
	});
});

describe('a call that no reply came to in time', () => {
	it.each([
		['of a caller names what to look at', PLAIN, /100 ms; the sidecar at \/nowhere is connected but has not answered/],
		['of the client itself is a detail of another report', BACKGROUND, /^ping: no reply within 100 ms$/],
	])('%s', (_whose, traits, message) => {
		const errors: SpockError[] = [];
		const request = { func: 'ping', tail: '', traits, timeoutMs: 100, signal: undefined };
		const clock = callClock({ clock: new FakeClock(), address: ADDRESS });
		new OutgoingCall(request, clock, ignore, (error) => errors.push(error)).rejectTimeout();
		expect(errors[0]?.message).toMatch(message);
	});
});
