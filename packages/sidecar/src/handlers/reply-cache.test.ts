import { FakeClock } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import type { Answer } from '../connection/answer.ts';
import { ReplyCache } from './reply-cache.ts';

const LONG = 'x'.repeat(20_000) as Answer<unknown>;

describe('what is told again', () => {
	it('is a long answer, for a moment', async () => {
		const clock = new FakeClock();
		const cache = new ReplyCache<unknown>(clock);
		expect(cache.find('a')).toBeUndefined();
		cache.put('a', LONG);
		expect(cache.find('a')).toBe(LONG);
		expect(cache.find('b')).toBeUndefined();
		await clock.advance(1000);
		expect(cache.find('a')).toBeUndefined();
	});

	it('is no short answer, unless it costs as much as a long one', () => {
		const cache = new ReplyCache<unknown>(new FakeClock());
		const short = 'x' as Answer<unknown>;
		cache.put('a', short);
		expect(cache.find('a')).toBeUndefined();
		cache.put('a', short, 20_000);
		expect(cache.find('a')).toBe(short);
	});

	it('is bounded in number: the oldest makes room', () => {
		const cache = new ReplyCache<unknown>(new FakeClock());
		for (let count = 0; count <= 64; count++) cache.put(`${count}`, LONG);
		expect(cache.find('0')).toBeUndefined();
		expect(cache.find('1')).toBe(LONG);
		expect(cache.find('64')).toBe(LONG);
	});

	it('is bounded in length, whatever was told before', () => {
		const cache = new ReplyCache<unknown>(new FakeClock());
		const huge = 'x'.repeat(10_000_000) as Answer<unknown>;
		cache.put('a', huge);
		cache.put('b', huge);
		expect(cache.find('a')).toBeUndefined();
		expect(cache.find('b')).toBe(huge);
	});
});
