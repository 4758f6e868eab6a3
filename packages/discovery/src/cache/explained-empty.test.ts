import { settle } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import {
	A,
	createSource,
	type FakeBackendSource,
	HOLD_MS,
	instance,
	query,
	recorder,
	refused,
	serving,
} from '../../test/fake-backend-source.ts';

describe('an empty answer after another one', () => {
	it('is believed at once where this process takes out all that was served, before or while it is held', async () => {
		const before = serving();
		before.source.expectGone('barista', 'a');
		before.last().answered([]);
		expect(before.source.peek(query)?.instances).toEqual([]);

		const during = serving();
		during.last().answered([]);
		during.source.expectGone('somebody else', 'a');
		expect(during.source.peek(query)?.instances).toBe(A);
		during.source.expectGone('barista', 'a');
		expect(during.source.peek(query)?.instances).toEqual([]);

		const later = serving();
		later.source.expectGone('barista', 'a');
		await later.clock.advance(HOLD_MS);
		later.last().answered([]);
		expect(later.source.peek(query)).toMatchObject({ instances: A, held: true });
	});

	it('is held where what was taken out has been out for longer than a hold, or was never served', async () => {
		const { source, last } = createSource();
		source.watch(query, recorder());
		source.expectGone('barista', 'a');
		last().answered(A);
		last().answered([]);
		expect(source.peek(query)).toMatchObject({ instances: A, held: true });
		const long = serving();
		for (const name of ['a', 'b']) long.source.expectGone('barista', name);
		await long.clock.advance(HOLD_MS);
		// What was expected before is forgotten.
		long.source.expectGone('barista', 'b');
		long.last().answered([]);
		expect(long.source.peek(query)).toMatchObject({ instances: A, held: true });
	});

	it('is held where more is missing than this process takes out: anybody may register a name and take that out', () => {
		const one = serving();
		one.source.expectGone('barista', 'node/mine');
		one.last().answered([]);
		expect(one.source.peek(query)).toMatchObject({ instances: A, held: true });
		const both = serving();
		both.last().answered([instance('a'), instance('mine')]);
		both.source.expectGone('barista', 'mine');
		both.last().answered([]);
		expect(both.source.peek(query)).toMatchObject({ held: true, instances: [{ instance: 'a' }, { instance: 'mine' }] });
	});

	it('of a question with tags or metadata is believed at once where the service has instances, of which none is asked for', async () => {
		for (const narrow of [
			{ service: 'barista', tags: ['canary'] },
			{ service: 'barista', meta: { track: 'canary' } },
		]) {
			const canary = { ...instance('a'), tags: ['canary'], meta: { track: 'canary' } };
			const one = createSource();
			one.source.watch(narrow, recorder());
			one.last().answered([canary]);
			one.last().answered([]);
			expect(one.source.peek(narrow)).toMatchObject({ held: true });
			expect(one.watching.at(-1)?.query).toEqual({ service: 'barista' });
			one.last().answered([instance('a')]);
			await settle();
			expect(one.source.peek(narrow)).toMatchObject({ instances: [], source: 'live' });
			expect(one.watching.map(({ stopped }) => stopped)).toEqual([false, true]);
		}
	});

	it.each<[string, (one: FakeBackendSource) => void]>([
		['has no instances', (one) => one.last().answered([])],
		['cannot be asked', (one) => one.last().failed(refused)],
		['still has what is asked for', (one) => one.last().answered([{ ...instance('a'), tags: ['canary'] }])],
	])('of a question with tags is held where the service %s', async (_what, answer) => {
		const narrow = { service: 'barista', tags: ['canary'] };
		const one = createSource();
		one.source.watch(narrow, recorder());
		one.last().answered([{ ...instance('a'), tags: ['canary'] }]);
		one.last().answered([]);
		answer(one);
		await settle();
		expect(one.source.peek(narrow)).toMatchObject({ held: true, instances: [{ instance: 'a' }] });
		await one.source.close();
		expect(one.clock.pendingTimers).toBe(0);
	});
});
