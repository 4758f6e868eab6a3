import { type KeyQuery, SpockError } from '@spock/protocol';
import { describe, expect, it } from 'vitest';

import { A, B, barista, chained } from '../../../test/chained-backends.ts';
import { ScriptedBackend } from '../../../test/scripted-backend.ts';
import type { Registrar } from '../../foundation/registrar.ts';
import { chainBackend, DEFAULT_FIRST_WORD_MS, DEFAULT_GONE_HOLD_MS } from './chain-backend.ts';

describe('a chain of backends', () => {
	it('tells what the first that knows the service says, and each verification of it, but nothing of the others', () => {
		const { first, second, told, watch } = chained();
		watch();
		second.answer(B);
		expect(told).toEqual([]);
		first.answer(A);
		second.answer(B);
		second.answer();
		second.fail();
		expect(told).toEqual(['a']);
		first.answer(A);
		expect(told).toEqual(['a', 'a']);
	});

	it('an outage of the first never swaps the instances of a service that it knows, not even for a new watch', () => {
		const { first, second, told, watch } = chained();
		const running = watch();
		first.answer(A);
		second.answer(B);
		first.fail();
		second.answer(B);
		expect(told).toEqual(['a', '!consul is away']);
		running.stop();
		watch();
		first.fail();
		second.answer(B);
		expect(told.slice(2)).toEqual(['!consul is away']);
		first.answer(A);
		expect(told.at(-1)).toBe('a');
	});

	it('an answer that had to wait for its turn is as old as it is', async () => {
		const { clock, first, second, told, ages, watch } = chained();
		watch();
		second.answer(B);
		await clock.advance(500);
		first.answer(A);
		first.answer();
		await clock.advance(DEFAULT_GONE_HOLD_MS);
		expect(told).toEqual(['a', 'b']);
		expect(ages).toEqual([0, 500 + DEFAULT_GONE_HOLD_MS]);
	});

	it('what the first said before it failed is not live again when it is back and says that the service is gone', async () => {
		const { clock, first, second, told, watch } = chained();
		watch();
		first.answer(A);
		second.answer(B);
		first.fail();
		first.answer();
		second.answer(B);
		expect(told).toEqual(['a', '!consul is away']);
		await clock.advance(DEFAULT_GONE_HOLD_MS);
		expect(told).toEqual(['a', '!consul is away', 'b']);
	});

	it('tells its members that somebody has asked again: a registry prefers what was asked last', () => {
		const used: string[] = [];
		const members = ['a', 'b'].map((name) => {
			const member = new ScriptedBackend(name);
			const { watch } = member;
			return Object.assign(member, {
				watch: (...asked: Parameters<typeof watch>) => ({
					...watch.apply(member, asked),
					stop: () => undefined,
					used: () => used.push(name),
				}),
			});
		});
		const watch = chainBackend({ backends: members }).watch(barista, {
			answered: () => undefined,
			failed: () => undefined,
		});
		watch.used?.();
		expect(used).toEqual(['a', 'b']);
		watch.stop();
	});

	it('asks its reader whether anybody reads, and ends once', () => {
		const asked: (boolean | undefined)[] = [];
		const member = new ScriptedBackend('a');
		for (const endIfUnread of [undefined, () => true, () => false]) {
			const reader = { answered: () => undefined, failed: () => undefined, ...(endIfUnread && { endIfUnread }) };
			const watch = chainBackend({ backends: [member, new ScriptedBackend('b')] }).watch(barista, reader);
			for (const observer of member.observers) asked.push(observer.endIfUnread?.());
			watch.stop();
			watch.stop();
			expect(member.observers.size).toBe(0);
		}
		expect(asked).toEqual([false, true, false]);
	});

	it('a service that the first never knew is the second one’s while the first is away, until the first knows it', () => {
		const { first, second, told, watch } = chained();
		watch();
		first.fail();
		second.answer(B);
		// Before the second has said something it is not known who knows the service.
		expect(told).toEqual(['b']);
		first.fail();
		expect(told).toEqual(['b']);
		first.answer(A);
		expect(told).toEqual(['b', 'a']);
	});

	it('a first that is silent is waited for, but not for long', async () => {
		const { clock, first, second, told, watch } = chained();
		watch();
		second.answer(B);
		await clock.advance(DEFAULT_FIRST_WORD_MS - 1);
		expect(told).toEqual([]);
		await clock.advance(1);
		expect(told).toEqual(['b']);
		first.answer(A);
		expect(told).toEqual(['b', 'a']);
	});

	it('a service that flaps at the first does not change its registry to and fro', async () => {
		const { clock, first, second, told, watch } = chained();
		watch();
		first.answer(A);
		second.answer(B);
		for (let turn = 0; turn < 100; turn++) {
			first.answer();
			await clock.advance(DEFAULT_GONE_HOLD_MS - 1);
			first.answer(A);
		}
		expect(new Set(told)).toEqual(new Set(['a']));
		first.answer();
		await clock.advance(DEFAULT_GONE_HOLD_MS / 2);
		first.answer();
		expect(told.at(-1)).toBe('a');
		await clock.advance(DEFAULT_GONE_HOLD_MS / 2);
		expect(told.at(-1)).toBe('b');
		first.answer(A);
		expect(told.at(-1)).toBe('a');
	});

	it('a first that fails while it says that the service is gone keeps its instances', async () => {
		const { clock, first, second, told, watch } = chained();
		watch();
		first.answer(A);
		second.answer(B);
		first.answer();
		first.fail();
		await clock.advance(10 * DEFAULT_GONE_HOLD_MS);
		expect(told).toEqual(['a', '!consul is away']);
	});

	it('a service that is gone everywhere is empty at once', () => {
		const { first, second, told, watch } = chained();
		watch();
		first.answer(A);
		second.answer();
		first.answer();
		expect(told).toEqual(['a', '-']);
	});

	it('leaves no timer and no watch behind', () => {
		const { clock, first, second, watch } = chained();
		const running = watch();
		first.answer(A);
		second.answer(B);
		first.answer();
		const timers = clock.pendingTimers;
		first.answer();
		expect(clock.pendingTimers).toBe(timers);
		running.stop();
		running.stop();
		expect([clock.pendingTimers, first.observers.size, second.observers.size]).toEqual([0, 0, 0]);
	});

	it('a member that cannot start a watch leaves none at the others', () => {
		const { first, second, watch } = chained();
		second.watch = () => {
			throw new SpockError('OVERLOADED', 'too many');
		};
		expect(watch).toThrow('too many');
		expect(first.observers.size).toBe(0);
	});

	it('lists what any member knows, with the tags of all; a member that is away stands with its last list', async () => {
		const { first, second, chain } = chained();
		const all = [
			{ name: 'aida', tags: [] },
			{ name: 'barista', tags: ['v1', 'v2'] },
		];
		first.fail();
		await expect(chain.list({})).rejects.toMatchObject({ code: 'UNAVAILABLE' });
		first.error = undefined;
		expect(await chain.list({})).toEqual(all);
		first.fail();
		expect(await chain.list({})).toEqual(all);
		const cannot = new SpockError('UNKNOWN_FUNC', 'cannot list');
		first.fail(cannot);
		expect((await chain.list({})).map(({ tags }) => tags)).toEqual([[], ['v2']]);
		second.fail(cannot);
		await expect(chain.list({})).rejects.toMatchObject({ code: 'UNKNOWN_FUNC' });
	});

	it('its status is that of its worst member, with each one’s own', () => {
		const { first, chain } = chained();
		expect(chain.status()).toMatchObject({ name: 'consul,local', state: 'up', error: null });
		first.fail();
		expect(chain.status()).toMatchObject({
			state: 'down',
			error: 'consul: consul is away',
			lastSuccessAgeMs: 5,
			members: [
				{ name: 'consul', state: 'down' },
				{ name: 'local', state: 'up' },
			],
		});
	});

	it('is ready when any member answers', async () => {
		const { first, second, chain } = chained();
		first.fail();
		await chain.probe?.();
		second.fail();
		await expect(chain.probe?.()).rejects.toMatchObject({ message: 'consul is away' });
	});

	it('closes its members, and names what is wrong with an option', async () => {
		const { first, second, chain } = chained();
		await chain.close();
		expect([first.isClosed, second.isClosed]).toEqual([true, true]);
		expect(() => chain.watch(barista, { answered: () => undefined, failed: () => undefined })).toThrow('closed');
		expect(() => chainBackend({ backends: [first] })).toThrow('backends');
		expect(() => chainBackend({ backends: [first, new ScriptedBackend('consul')] })).toThrow('consul');
		expect(() => chainBackend({ backends: [first, second], goneHoldMs: 0 })).toThrow('goneHoldMs');
	});

	it('may ask no more at once than each of its members can, and any number where none has a limit', () => {
		const { first, second, chain } = chained();
		expect(chain.queriesMax).toBeUndefined();
		const less = Object.assign(first, { queriesMax: { services: 9, keys: 2, lists: 3 } });
		expect(chainBackend({ backends: [less, second] }).queriesMax).toEqual({ services: 9, keys: 2, lists: 3 });
		const other = Object.assign(second, { queriesMax: { services: 5, keys: 7, lists: 3 } });
		expect(chainBackend({ backends: [less, other] }).queriesMax).toEqual({ services: 5, keys: 2, lists: 3 });
	});

	it('gives keys and registrations to the first member that has them, and trusts an empty answer if all do', () => {
		const { first, second, chain } = chained();
		expect([chain.watchKey, chain.registrar, chain.trustsEmpty]).toEqual([undefined, undefined, false]);
		const registrar = {} as Registrar;
		const asked: unknown[] = [];
		const keyed = Object.assign(second, {
			registrar,
			trustsEmpty: true,
			watchKey(this: unknown, query: KeyQuery) {
				asked.push(this, query);
				return { stop: () => undefined };
			},
		});
		const other = chainBackend({ backends: [first, keyed] });
		expect([other.registrar, other.trustsEmpty]).toEqual([registrar, false]);
		other.watchKey?.({ key: 'app/limits' }, { answered: () => undefined, failed: () => undefined });
		expect(asked).toEqual([keyed, { key: 'app/limits' }]);
		const third = Object.assign(new ScriptedBackend('dns', []), { trustsEmpty: true });
		expect(chainBackend({ backends: [keyed, third] }).trustsEmpty).toBe(true);
	});
});
