import { settle } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { away, barista, found, holder, openRegistrations } from '../../test/open-registrations.ts';

describe('a sidecar that was restarted', () => {
	it('leaves what it finds as it is, and deregisters it when nobody comes within the grace', async () => {
		const { clock, registrar, registrations } = openRegistrations();
		registrar.found = [found('b1', 'connection')];
		registrations.adopt();
		await clock.advance(9_999);
		expect(registrar.writes).toEqual([]);
		expect(registrations.list()).toMatchObject([{ id: 'b1', phase: 'adopted', holders: 0 }]);
		await clock.advance(1);
		expect(registrar.writes).toEqual(['deregister b1']);
	});

	it('finds also what the one before it registered after the first look, and deregisters that in the same way', async () => {
		const { clock, registrar, registrations } = openRegistrations();
		registrations.adopt();
		await clock.advance(100);
		registrar.found = [found('b1', 'connection')];
		await clock.advance(9_900);
		expect(registrations.list()).toMatchObject([{ id: 'b1', phase: 'adopted', holders: 0 }]);
		await clock.advance(10_000);
		expect(registrar.writes).toEqual(['deregister b1']);
		expect(clock.pendingTimers).toBe(0);
	});

	it('goes on with it when its app comes back: no critical between', async () => {
		const { clock, registrar, registrations } = openRegistrations();
		registrar.found = [found('b1', 'connection')];
		registrations.adopt();
		await settle();
		await registrations.claim({ ...barista, status: 'warning', note: 'queue is long' }, holder());
		await clock.advance(60_000);
		expect(registrar.writes[0]).toBe('register b1 warning');
		expect(new Set(registrar.writes.slice(1))).toEqual(new Set(['report b1 warning']));
	});

	it('keeps alive what is bound to it, and leaves alone what its app has registered first', async () => {
		const { clock, registrar, registrations } = openRegistrations();
		registrar.found = [found('b1', 'connection'), found('b2', 'sidecar')];
		await registrations.claim(barista, holder());
		registrar.known.set('b2', {
			definition: found('b2', 'sidecar').definition,
			health: { status: 'passing', note: '' },
		});
		registrations.adopt();
		await clock.advance(30_000);
		expect(registrar.known.get('b2')?.health).toEqual({ status: 'warning', note: 'queue is long' });
		expect(registrar.writes.filter((write) => write.startsWith('register'))).toEqual(['register b1 passing']);
	});

	it('takes out what its app deregisters before it is known what there is', async () => {
		const { clock, registrar, registrations } = openRegistrations();
		registrar.found = [found('b1', 'connection')];
		registrar.error = away;
		registrations.adopt();
		const stop = new AbortController();
		const app = holder();
		const aborted = registrations.withdraw('b1', app, stop.signal);
		const withdrawn = registrations.withdraw('b1', app);
		stop.abort();
		await aborted;
		registrar.error = undefined;
		await clock.advance(250);
		await withdrawn;
		expect(registrar.writes).toEqual(['deregister b1']);
		await registrations.withdraw('b1', app);
	});

	it('what is registered while a deregistration of something unknown waits stays: it is the later word', async () => {
		const { registrar, registrations } = openRegistrations();
		const app = holder();
		const withdrawn = registrations.withdraw('b1', app);
		const reply = await registrations.claim(barista, app);
		await withdrawn;
		expect(reply.state).toBe('registered');
		expect(registrar.writes).toEqual(['register b1 passing']);
		expect(registrations.count).toBe(1);
		registrations.close();
	});

	it('asks until the registry answers', async () => {
		const { clock, registrar, registrations, events } = openRegistrations();
		registrar.found = [found('b1', 'connection')];
		registrar.error = away;
		registrations.adopt();
		await clock.advance(250);
		expect(events).toMatchObject([
			{ type: 'registrations-unknown', isNews: true },
			{ type: 'registrations-unknown', isNews: false },
		]);
		registrar.error = undefined;
		await clock.advance(500);
		expect(registrations.count).toBe(1);
		registrations.close();
		expect(clock.pendingTimers).toBe(0);
	});
});
