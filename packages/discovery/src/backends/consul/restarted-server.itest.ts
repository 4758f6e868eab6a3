import { startFakeConsul, waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { blocked } from '../../../test/watched-backend.ts';
import { watchedMany } from '../../../test/watched-many.ts';
import type { ConsulBackendOptions } from './consul-backend-options.ts';

/** A server that has the new instance of a service now, and had the old one before; and a watch of `barista`, which is held there. */
async function openSite(service: 'barista' | 'waiter', options: ConsulBackendOptions = {}) {
	const fake = await startFakeConsul();
	fake.set(service, [{ id: 'old' }]);
	const old = fake.stateOf(service);
	fake.set(service, [{ id: 'new' }]);
	const backend = watchedMany([fake.url], options);
	const first = backend.watch('barista');
	await blocked(fake);
	return {
		...{ fake, old, first, watch: backend.watch },
		/** Ends, and is noticed. */
		fail: async () => {
			await fake.stop();
			await waitFor('the failure', () => first.errors.length > 0);
		},
		[Symbol.asyncDispose]: async () => {
			await backend[Symbol.asyncDispose]();
			await fake[Symbol.asyncDispose]();
		},
	};
}

describe('a server that was restarted, and answers with what it knew once', () => {
	it.each(['stale', 'default'] as const)(
		'is not believed, asked for %s answers: what is known stays until it has caught up',
		async (consistency) => {
			await using site = await openSite('barista', { consistency });
			const { fake, old, first } = site;
			await site.fail();
			fake.replay(old);
			await fake.listen();
			await waitFor('the next answer', () => first.answers.length > 1);
			await blocked(fake);
			fake.replay(undefined);
			fake.set('barista', [{ id: 'newest' }]);
			await waitFor('the change', () => first.answers.at(-1)?.[0]?.instance === 'node-1/newest');
			const seen = new Set(first.answers.map((answer) => answer[0]?.instance));
			expect([...seen]).toEqual(['node-1/new', 'node-1/newest']);
		},
	);

	it('gives no old answer to a first lookup either', async () => {
		await using site = await openSite('waiter');
		await site.fail();
		site.fake.replay(site.old);
		await site.fake.listen();
		const second = site.watch('waiter');
		await waitFor('the answer', () => second.answers.length > 0);
		expect(second.answers[0]).toMatchObject([{ instance: 'node-1/new' }]);
	});

	it('is noticed by its lower index, where an agent in front of it has not failed', async () => {
		await using site = await openSite('barista');
		const { fake, old, first } = site;
		fake.replay(old);
		fake.wakeAll();
		await waitFor('the next answer', () => first.answers.length > 1);
		expect(first.answers.at(-1)).toMatchObject([{ instance: 'node-1/new' }]);
		expect(first.errors).toEqual([]);
	});

	it('is asked for what it knows itself where there is no leader, and that is not called live', async () => {
		await using site = await openSite('waiter');
		await site.fail();
		await site.fake.listen();
		site.fake.failPath('/v1/health/service/waiter', { status: 500, text: 'No cluster leader' });
		const second = site.watch('waiter');
		await waitFor('the answer', () => second.answers.length > 0);
		expect(second.answers[0]).toMatchObject([{ instance: 'node-1/new' }]);
		expect(second.metas[0]).toMatchObject({ isUnconfirmed: true });
	});
});
