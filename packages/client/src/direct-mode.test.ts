import { type ServiceSnapshot, type ServiceSource, SpockError } from '@spock/protocol';
import { FakeClock, fakeSnapshot } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { createDiplomat } from './connect.ts';

interface Scripted {
	readonly source: ServiceSource;
	readonly counts: { gets: number; watches: number };
}

/** A source that gives one snapshot, and counts what it is asked. */
function scripted(snapshot: ServiceSnapshot, watchError?: SpockError): Scripted {
	const counts = { gets: 0, watches: 0 };
	const source: ServiceSource = {
		name: 'scripted',
		peek: () => undefined,
		get: async () => {
			counts.gets++;
			return snapshot;
		},
		watch: (_query, observer) => {
			counts.watches++;
			if (watchError !== undefined) throw watchError;
			observer.next(snapshot);
			return { stop: () => undefined };
		},
		list: async () => ({ services: [], source: 'live', ageMs: 0, verifiedAt: 0 }),
		close: async () => undefined,
	};
	return { source, counts };
}

const two = fakeSnapshot('barista', 1, ['10.0.0.1:80', '10.0.0.2:80']);

describe('direct mode', () => {
	it('is ready at once, has no round trip, and says when it has ended', async () => {
		const diplomat = createDiplomat({ source: scripted(two).source, clock: new FakeClock() });
		await diplomat.ready();
		expect(await diplomat.ping()).toBe(0);
		expect(diplomat.status()).toMatchObject({ source: 'scripted', state: 'ready', address: null });
		await diplomat.close();
		await diplomat.close();
		expect(diplomat.status().state).toBe('closed');
		await expect(diplomat.ready()).rejects.toMatchObject({ code: 'CLOSED' });
		await expect(diplomat.getService('barista')).rejects.toMatchObject({ code: 'CLOSED' });
	});

	it.each([
		['this client watches as many as it may', { subscriptionsMax: 0 }, undefined],
		['the source watches as many as it may', {}, new SpockError('OVERLOADED', 'enough')],
	])('where %s, each lookup asks the source', async (_why, options, watchError) => {
		const { source, counts } = scripted(two, watchError);
		const diplomat = createDiplomat({ ...options, source, clock: new FakeClock(), random: () => 0.5 });
		expect(await diplomat.getService('barista')).toMatchObject({ port: 80 });
		expect(await diplomat.getService('barista', { key: 'user-1' })).toEqual(
			await diplomat.getService('barista', { key: 'user-1' }),
		);
		expect(counts.gets).toBe(3);
		expect(diplomat.pick('barista')).toBeUndefined();
		expect(diplomat.status().subscriptions).toBe(0);
		await diplomat.close();
	});

	it('where each lookup asks the source, a service without instances is NO_SUCH_SERVICE', async () => {
		const { source } = scripted(fakeSnapshot('barista', 1, []));
		const diplomat = createDiplomat({ source, subscriptionsMax: 0, clock: new FakeClock() });
		await expect(diplomat.getService('barista')).rejects.toMatchObject({ code: 'NO_SUCH_SERVICE' });
		await diplomat.close();
	});

	it('a lookup that is cut short by the end of the client watches nothing after it', async () => {
		const { source, counts } = scripted(two);
		const diplomat = createDiplomat({ source, clock: new FakeClock() });
		const lookup = diplomat.getService('barista');
		const closed = diplomat.close();
		await expect(lookup).rejects.toMatchObject({ code: 'CLOSED' });
		await closed;
		expect(counts.watches).toBe(0);
	});

	it('a source that fails to close rejects the call, and the client has ended all the same', async () => {
		for (const reason of ['close', 'drain'] as const) {
			const { source } = scripted(two);
			const close = () => Promise.reject(new Error('no way to close'));
			const diplomat = createDiplomat({ source: { ...source, close }, clock: new FakeClock() });
			await expect(diplomat[reason]()).rejects.toThrow('no way to close');
			expect(await diplomat.closed).toEqual({ reason });
		}
	});

	it('what else a source refuses rejects the lookup', async () => {
		const { source } = scripted(two, new SpockError('ACL_DENIED', 'no'));
		const diplomat = createDiplomat({ source, clock: new FakeClock() });
		await expect(diplomat.getService('barista')).rejects.toMatchObject({ code: 'ACL_DENIED' });
		await diplomat.close();
	});
});
