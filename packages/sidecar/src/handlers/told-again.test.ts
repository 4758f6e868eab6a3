import { FakeClock } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import type { Answer } from '../connection/answer.ts';
import { ToldAgain } from './told-again.ts';

const LONG = 'x'.repeat(20_000) as Answer<unknown>;

describe('what is told again', () => {
	it('is a long answer, for a moment', async () => {
		const clock = new FakeClock();
		const told = new ToldAgain<unknown>(clock);
		expect(told.find('a')).toBeUndefined();
		told.tell('a', LONG);
		expect(told.find('a')).toBe(LONG);
		expect(told.find('b')).toBeUndefined();
		await clock.advance(1000);
		expect(told.find('a')).toBeUndefined();
	});

	it('is no short answer, unless it costs as much as a long one', () => {
		const told = new ToldAgain<unknown>(new FakeClock());
		const short = 'x' as Answer<unknown>;
		told.tell('a', short);
		expect(told.find('a')).toBeUndefined();
		told.tell('a', short, 20_000);
		expect(told.find('a')).toBe(short);
	});

	it('is bounded in number: the oldest makes room', () => {
		const told = new ToldAgain<unknown>(new FakeClock());
		for (let count = 0; count <= 64; count++) told.tell(`${count}`, LONG);
		expect(told.find('0')).toBeUndefined();
		expect(told.find('1')).toBe(LONG);
		expect(told.find('64')).toBe(LONG);
	});

	it('is bounded in length, whatever was told before', () => {
		const told = new ToldAgain<unknown>(new FakeClock());
		const huge = 'x'.repeat(10_000_000) as Answer<unknown>;
		told.tell('a', huge);
		told.tell('b', huge);
		expect(told.find('a')).toBeUndefined();
		expect(told.find('b')).toBe(huge);
	});
});
