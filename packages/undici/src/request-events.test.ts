import { channel } from 'node:diagnostics_channel';

import { createDiplomat } from '@spock/client';
import { expect, it, vi } from 'vitest';

import { ScriptedSource } from '../test/instances.ts';
import { LeaseLedger } from '../test/leases.ts';
import { createDispatcher, spockInterceptor } from './index.ts';

const OPTIONS = { origin: 'http://barista.spock', path: '/menu', method: 'GET' };
const place = { instance: 'web-1', host: '10.0.0.1', port: 80, weight: 1, status: 'passing' as const };
const instance = { ...place, tags: [], meta: {}, zone: null, datacenter: null };

/** As undici: it publishes a request that it makes, and how that ends. */
function makeRequest(): { complete(): void } {
	const request = {};
	channel('undici:request:create').publish({ request });
	return { complete: () => channel('undici:request:trailers').publish({ request }) };
}

it('a request that is read late, as a queue does, is told apart from those of others', async () => {
	await using diplomat = createDiplomat({ source: new ScriptedSource({ barista: [instance] }) });
	await diplomat.getService('barista');
	const ledger = new LeaseLedger(diplomat);
	const read: Array<() => string> = [];
	const queue = (options: typeof OPTIONS, _handler: object): boolean => {
		read.push(() => options.path);
		return true;
	};
	using interceptor = spockInterceptor({ diplomat });
	const dispatch = interceptor(queue);
	dispatch(OPTIONS, {});
	expect(ledger.outcomes).toEqual(['cancelled']);
	// It is looked at, and no request is made of it: the next one is somebody else's.
	expect(read[0]?.()).toBe('/menu');
	await Promise.resolve();
	makeRequest().complete();
	expect(ledger.reported).toEqual([]);
	// Now one is made of it, and then again one of somebody else.
	read[0]?.();
	const ours = makeRequest();
	makeRequest().complete();
	expect(ledger.reported).toEqual([]);
	ours.complete();
	ours.complete();
	expect(ledger.reported).toEqual(['web-1 success']);
});

it('those that ended before their Diplomat leave nothing behind in it', async () => {
	const diplomat = createDiplomat({ source: new ScriptedSource() });
	const reactions = vi.spyOn(diplomat.closed, 'then');
	for (let turn = 0; turn < 10; turn++) {
		spockInterceptor({ diplomat }).close();
		await createDispatcher({ diplomat }).close();
	}
	expect(reactions.mock.calls.length).toBeLessThanOrEqual(1);
	reactions.mockRestore();
	await diplomat.close();
});
