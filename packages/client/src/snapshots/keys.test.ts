import type { KeyEntry } from '@spock/protocol';
import { fakeKey, fakePrefix, settle } from '@spock/testkit';
import { describe, expect, expectTypeOf, it } from 'vitest';

import { simulate } from '../../test/simulated-client.ts';

describe('getKey and watchKey', () => {
	it('the first question subscribes; later ones are answered here', async () => {
		const { diplomat, sidecar } = await simulate();
		sidecar.publishKey(fakeKey('app/limits', 1, '5'));
		expect(await diplomat.getKey('app/limits')).toEqual({
			key: 'app/limits',
			value: '5',
			revision: 1,
			source: 'live',
			ageMs: 0,
			verifiedAt: expect.any(Number),
		});
		const asked = sidecar.requests.length;
		sidecar.publishKey(fakeKey('app/limits', 2, '6'));
		await settle();
		expect((await diplomat.getKey('app/limits')).value).toBe('6');
		expect(sidecar.requests).toHaveLength(asked);
		expect((await diplomat.getKey('app/nothing')).value).toBeNull();
		expect((await diplomat.getKey('app/limits', { fresh: true })).value).toBe('6');
		expect(sidecar.requestsOf('getKey')).toHaveLength(1);
		expect(diplomat.status().subscriptions).toBe(2);
		await diplomat.close();
		await expect(diplomat.getKey('app/limits')).rejects.toMatchObject({ code: 'CLOSED' });
	});

	it('a prefix has entries, a key has a value: the types tell', async () => {
		const { diplomat, sidecar } = await simulate();
		sidecar.publishKey(fakePrefix('app/', 1, { 'app/a': '1' }));
		const all = await diplomat.getKey({ key: 'app/', prefix: true });
		expectTypeOf(all.entries).toEqualTypeOf<readonly KeyEntry[]>();
		expectTypeOf((await diplomat.getKey('a')).value).toEqualTypeOf<string | null>();
		expect(all.entries).toEqual([{ key: 'app/a', value: '1' }]);
		await expect(diplomat.getKey('')).rejects.toMatchObject({ code: 'BAD_REQUEST', details: { path: 'key' } });
		await diplomat.close();
	});

	it('watchKey gives what is known and each change, and ends with the client', async () => {
		const { diplomat, sidecar } = await simulate();
		sidecar.publishKey(fakeKey('app/limits', 1, '5'));
		const watch = diplomat.watchKey('app/limits');
		expect((await watch.next()).value).toMatchObject({ value: '5' });
		sidecar.publishKey(fakeKey('app/limits', 2, null));
		expect((await watch.next()).value).toMatchObject({ value: null, revision: 2 });
		await diplomat.close();
		expect((await watch.next()).done).toBe(true);
	});

	it('what the sidecar sends is checked: a broken push is a fault, a broken reply PROTOCOL', async () => {
		const { diplomat, sidecar } = await simulate();
		sidecar.publishKey(fakeKey('app/limits', 1, '5'));
		await diplomat.getKey('app/limits');
		const good = fakeKey('app/limits', 9, '9');
		const broken: unknown[] = [
			null,
			{},
			{ ...good, revision: 'x' },
			{ ...good, value: 5 },
			{ ...good, encoding: 'rot13' },
			{ key: 'app/limits', prefix: true, revision: 9, entries: [{ key: 'a' }] },
		];
		for (const data of broken) sidecar.connection.push('key', data);
		await settle();
		expect(diplomat.status().protocolFaults).toBe(broken.length);
		expect((await diplomat.getKey('app/limits')).value).toBe('5');
		sidecar.options = { handle: ({ func }) => (func === 'getKey' ? { data: { key: 'x' } } : undefined) };
		await expect(diplomat.getKey('x', { fresh: true })).rejects.toMatchObject({
			code: 'PROTOCOL',
			details: { path: 'revision' },
		});
		await diplomat.close();
	});
});
