import { entriesOf, type KeyQuery, type KeySnapshot, type KeySource, type SpockError } from '@spock/protocol';
import { describe, expect, it } from 'vitest';

import { waitFor } from './wait-for.ts';

/** What the suite needs of whoever runs it: keys, and a hand on the registry behind them. */
export interface KeyFixture extends AsyncDisposable {
	readonly keys: KeySource;
	/** Makes these the keys of the registry, and no others. */
	setKeys(values: Readonly<Record<string, string>>): void | Promise<void>;
}

function follow(keys: KeySource, query: KeyQuery) {
	const seen: KeySnapshot[] = [];
	const errors: SpockError[] = [];
	const { stop } = keys.watch(query, {
		next: (snapshot) => seen.push(snapshot),
		error: (error) => errors.push(error),
	});
	const now = (): string | undefined => {
		const newest = seen.at(-1);
		return newest && textOf(newest);
	};
	return { seen, errors, stop, says: (text: string) => waitFor(`"${text}"`, () => now() === text) };
}

/** `key=value` for each entry. */
function textOf(snapshot: KeySnapshot): string {
	return entriesOf(snapshot)
		.map(({ key, value }) => `${key}=${value}`)
		.join(' ');
}

/** What every KeySource promises. Each test makes a fixture of its own. */
export function describeKeyContract(name: string, makeFixture: () => Promise<KeyFixture>): void {
	describe(`${name} keeps the contract of a KeySource`, () => {
		it('get gives the value of a key, null for one that is not there, and the keys of a prefix', async () => {
			await using fixture = await makeFixture();
			await fixture.setKeys({ 'app/b': '2', 'app/a': '{"max":5}', apple: 'no' });
			const { keys } = fixture;
			expect(await keys.get({ key: 'app/a' })).toMatchObject({
				key: 'app/a',
				value: '{"max":5}',
				source: 'live',
				ageMs: 0,
			});
			expect(await keys.get({ key: 'app/' })).toMatchObject({ key: 'app/', value: null });
			const all = await keys.get({ key: 'app/', prefix: true });
			expect(all).toMatchObject({ key: 'app/', prefix: true });
			expect(textOf(all)).toBe('app/a={"max":5} app/b=2');
			expect(textOf(await keys.get({ key: 'none/', prefix: true }))).toBe('');
		});

		it('peek never starts anything, and gives what is known in this tick', async () => {
			await using fixture = await makeFixture();
			await fixture.setKeys({ 'app/a': '1' });
			const { keys } = fixture;
			expect(keys.peek({ key: 'app/a' })).toBeUndefined();
			await keys.get({ key: 'app/a' });
			expect(keys.peek({ key: 'app/a' })).toMatchObject({ value: '1' });
			expect(keys.peek({ key: 'app/a', prefix: true })).toBeUndefined();
		});

		it('watch tells what is known before it returns, then every change, never an older one', async () => {
			await using fixture = await makeFixture();
			await fixture.setKeys({ 'app/a': '0' });
			await fixture.keys.get({ key: 'app/a' });
			const one = follow(fixture.keys, { key: 'app/a' });
			expect(one.seen).toHaveLength(1);
			for (let value = 1; value <= 10; value++) await fixture.setKeys({ 'app/a': String(value) });
			await one.says('app/a=10');
			const revisions = one.seen.map(({ revision }) => revision);
			expect(revisions).toEqual([...revisions].sort((left, right) => left - right));
			one.stop();
		});

		it('a key comes and goes, and so do the keys of a prefix', async () => {
			await using fixture = await makeFixture();
			const one = follow(fixture.keys, { key: 'app/a' });
			const all = follow(fixture.keys, { key: 'app/', prefix: true });
			await one.says('');
			await fixture.setKeys({ 'app/a': '1', 'app/b': '2' });
			await one.says('app/a=1');
			await all.says('app/a=1 app/b=2');
			await fixture.setKeys({ 'app/b': '3' });
			await one.says('');
			await all.says('app/b=3');
			expect([...one.errors, ...all.errors]).toEqual([]);
		});

		it('two watches of one key are independent: stopping one leaves the other', async () => {
			await using fixture = await makeFixture();
			await fixture.setKeys({ 'app/a': '1' });
			const first = follow(fixture.keys, { key: 'app/a' });
			const second = follow(fixture.keys, { key: 'app/a' });
			await Promise.all([first.says('app/a=1'), second.says('app/a=1')]);
			first.stop();
			first.stop();
			const told = first.seen.length;
			await fixture.setKeys({ 'app/a': '2' });
			await second.says('app/a=2');
			expect(first.seen).toHaveLength(told);
		});
	});
}
