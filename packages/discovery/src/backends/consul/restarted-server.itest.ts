import { startFakeConsul, waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { blocked, watched } from '../../../test/watched-backend.ts';
import { watchedMany } from '../../../test/watched-many.ts';

describe('a server that was restarted, and answers with what it knew once', () => {
	it('is not believed: what is known stays, and is confirmed by the leader', async () => {
		await using fake = await startFakeConsul();
		fake.set('barista', [{ id: 'old' }]);
		const old = fake.stateOf('barista');
		fake.set('barista', [{ id: 'new' }]);
		await using one = watched([fake]);
		await blocked(fake);
		await fake.stop();
		await waitFor('the failure', () => one.errors.length > 0);
		fake.replay(old);
		await fake.listen();
		await waitFor('the next answer', () => one.answers.length > 1);
		await blocked(fake);
		fake.replay(undefined);
		fake.set('barista', [{ id: 'newest' }]);
		await waitFor('the change', () => one.answers.at(-1)?.[0]?.instance === 'node-1/newest');
		const seen = new Set(one.answers.map((answer) => answer[0]?.instance));
		expect([...seen]).toEqual(['node-1/new', 'node-1/newest']);
	});

	it('gives no old answer to a first lookup either', async () => {
		await using fake = await startFakeConsul();
		const old = fake.stateOf('waiter');
		fake.set('waiter', [{ id: 'new' }]);
		await using one = watchedMany([fake.url], { random: () => 0 });
		const first = one.watch('barista');
		await blocked(fake);
		await fake.stop();
		await waitFor('the failure', () => first.errors.length > 0);
		fake.replay(old);
		await fake.listen();
		const second = one.watch('waiter');
		await waitFor('the answer', () => second.answers.length > 0);
		expect(second.answers[0]).toMatchObject([{ instance: 'node-1/new' }]);
	});

	it('is noticed by its lower index, where an agent in front of it has not failed', async () => {
		await using fake = await startFakeConsul();
		fake.set('barista', [{ id: 'old' }]);
		const old = fake.stateOf('barista');
		fake.set('barista', [{ id: 'new' }]);
		await using one = watched([fake]);
		await blocked(fake);
		fake.replay(old);
		fake.wakeAll();
		await waitFor('the next answer', () => one.answers.length > 1);
		expect(one.answers.at(-1)).toMatchObject([{ instance: 'node-1/new' }]);
		expect(one.errors).toEqual([]);
	});

	it('is asked for what it knows itself where there is no leader, and that is not called live', async () => {
		await using fake = await startFakeConsul();
		fake.set('waiter', [{ id: 'a' }]);
		await using one = watchedMany([fake.url], { random: () => 0 });
		const first = one.watch('barista');
		await blocked(fake);
		await fake.stop();
		await waitFor('the failure', () => first.errors.length > 0);
		await fake.listen();
		fake.failPath('/v1/health/service/waiter', { status: 500, text: 'No cluster leader' });
		const second = one.watch('waiter');
		await waitFor('the answer', () => second.answers.length > 0);
		expect(second.answers[0]).toMatchObject([{ instance: 'node-1/a' }]);
		expect(second.metas[0]).toMatchObject({ isUnconfirmed: true });
	});
});
