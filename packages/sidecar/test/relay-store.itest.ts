import { storeContract } from '@spock/events/contract';
import { describe, expect, it } from 'vitest';

import { relayFixture } from './relay-fixture.ts';

describe('the relay keeps what an EventStore promises of what it is given', () => {
	for (const { name, run } of storeContract(() => relayFixture(), { isReadElsewhere: true })) it(name, run);
});

it('is not read here, and says where to', async () => {
	const { RelayStore } = await import('@spock/events/stores');
	const store = new RelayStore({ owner: 'log-1', access: () => Promise.reject(new Error('nobody asks')) });
	await expect(store.reader('orders')).rejects.toMatchObject({ code: 'BAD_REQUEST', message: /consume it there/ });
	await expect(store.deleteGroup('orders', 'g')).rejects.toMatchObject({ message: /delete it there/ });
	await store.close();
});
