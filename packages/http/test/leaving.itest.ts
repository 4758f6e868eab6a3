import type { LookupOptions } from 'node:dns';
import type { LookupFunction } from 'node:net';

import { createDiplomat, type ServiceQuery } from '@spock/client';
import { DiscoveryAgent } from '@spock/http';
import type { SnapshotObserver } from '@spock/protocol';
import { waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { startHeldInstance, startInstance } from './http-instance.ts';
import { type Place, scriptedService, snapshotOf } from './scripted-service.ts';
import { begin, send } from './send.ts';

describe('connections to an instance that has left', () => {
	it('are closed at once when idle, and after their response when busy', async () => {
		await using web = await startHeldInstance('web-1');
		await using service = scriptedService('web');
		service.set([web]);
		// Neither side would close them by itself.
		web.server.keepAliveTimeout = 120_000;
		const agent = new DiscoveryAgent({ diplomat: service.diplomat, idleTimeoutMs: 120_000 });
		const first = send('http://web.spock/', { agent });
		const second = send('http://web.spock/', { agent });
		await waitFor('both', () => web.requests === 2);
		web.go();
		await Promise.all([first, second]);
		const busy = send('http://web.spock/', { agent });
		await waitFor('the third', () => web.requests === 3);
		expect(web.connections).toBe(2);
		service.set([]);
		await waitFor('the end of the idle one', () => web.sockets.size === 1);
		web.go();
		expect((await busy).body).toBe('web-1');
		await waitFor('the end of the other', () => web.sockets.size === 0);
		await waitFor('the end of the watch', () => service.watchers === 1);
	});

	it('that another question uses now are not cut: the request in flight there ends well', async () => {
		await using web = await startHeldInstance('web-1');
		// Its instances are those of every question; what each is told of them is its own.
		const questions = new Map<string, SnapshotObserver>();
		const snapshot = (query: ServiceQuery, revision: number, places: readonly Place[]) => ({
			...snapshotOf(query.service, revision, places),
			...query,
		});
		const diplomat = createDiplomat({
			source: {
				name: 'scripted',
				peek: (query) => snapshot(query, 1, [web]),
				get: async (query) => snapshot(query, 1, [web]),
				watch: (query, observer) => {
					questions.set(query.service, observer);
					observer.next(snapshot(query, 1, [web]));
					return { stop: () => undefined };
				},
				list: async () => ({ services: [], source: 'live', ageMs: 0, verifiedAt: 0 }),
				close: async () => undefined,
			},
		});
		const agent = new DiscoveryAgent({ diplomat, keepAlive: true });
		const first = send('http://canary.spock/', { agent });
		await waitFor('the first', () => web.requests === 1);
		web.go();
		await first;
		const payment = send('http://web.spock/', { agent, method: 'POST' }, 'a payment');
		await waitFor('the payment', () => web.requests === 2);
		expect(web.connections).toBe(1);
		questions.get('canary')?.next(snapshot({ service: 'canary' }, 2, []));
		await new Promise((resolve) => setImmediate(resolve));
		web.go();
		expect((await payment).body).toBe('web-1');
		agent.destroy();
		await diplomat.close();
	});

	it('are not waited for by requests in the queue of Node', async () => {
		await using old = await startHeldInstance('web-1');
		await using web = await startInstance('web-2');
		await using service = scriptedService('web');
		service.set([old]);
		const agent = new DiscoveryAgent({ diplomat: service.diplomat, maxSockets: 1 });
		const first = send('http://web.spock/', { agent });
		await waitFor('the first', () => old.requests === 1);
		const queued = Array.from({ length: 5 }, () => send('http://web.spock/', { agent, method: 'POST' }, 'a body'));
		service.set([web]);
		await waitFor('the change to be known', () => service.diplomat.pick('web')?.instance === 'web-2');
		old.go();
		expect((await first).body).toBe('web-1');
		for (const { body } of await Promise.all(queued))
			expect(JSON.parse(body)).toMatchObject({ id: 'web-2', body: 'a body' });
		expect(old.requests).toBe(1);
		expect(service.open()).toBe(0);
		agent.destroy();
	});

	it.each([
		['stays with it', false],
		['is given up', true],
	])('that are opened for the queue and fail at once disturb nobody: a request there %s', async (_what, isGivenUp) => {
		await using old = await startHeldInstance('web-1');
		await using web = await startInstance('web-2');
		await using service = scriptedService('web');
		service.set([{ ...old, host: 'old.test' }]);
		let isGone = false;
		const lookup = ((_host: string, { all }: LookupOptions, done: (...answer: unknown[]) => void) => {
			if (isGone) done(Object.assign(new Error('getaddrinfo ENOTFOUND old.test'), { code: 'ENOTFOUND' }));
			else if (all === true) done(null, [{ address: '127.0.0.1', family: 4 }]);
			else done(null, '127.0.0.1', 4);
		}) as LookupFunction;
		const uncaught: Error[] = [];
		const onUncaught = (error: Error): void => void uncaught.push(error);
		process.on('uncaughtExceptionMonitor', onUncaught);
		const agent = new DiscoveryAgent({ diplomat: service.diplomat, maxSockets: 1, lookup });
		const first = send('http://web.spock/', { agent });
		await waitFor('the first', () => old.requests === 1);
		const queued = Array.from({ length: 3 }, () => begin('http://web.spock/', { agent }));
		for (const { request } of queued) request.end();
		service.set([web]);
		await waitFor('the change to be known', () => service.diplomat.pick('web')?.instance === 'web-2');
		isGone = true;
		if (isGivenUp) queued[0]?.request.destroy();
		await old.stop();
		await expect(first).rejects.toMatchObject({ code: 'ECONNRESET' });
		const answers = await Promise.allSettled(queued.map(({ answer }) => answer));
		const statuses = answers.map((one) => (one.status === 'fulfilled' ? one.value.status : one.reason.code));
		expect(statuses).toEqual([isGivenUp ? 'ECONNRESET' : 200, 200, 200]);
		await waitFor('the releases', () => service.open() === 0);
		process.off('uncaughtExceptionMonitor', onUncaught);
		expect(uncaught).toEqual([]);
		agent.destroy();
	});
});
