import type { DiscoveryEvent } from '@spock/discovery';
import type { ServiceInstance, ServiceSnapshot } from '@spock/protocol';
import { FakeClock } from '@spock/testkit';
import { expect, it } from 'vitest';

import { CHANGES_MAX, ChangeLog } from './change-log.ts';

type Published = Extract<DiscoveryEvent, { type: 'published' }>;

function instance(name: string, members: Partial<ServiceInstance> = {}): ServiceInstance {
	const rest = { weight: 1, status: 'passing', tags: [], meta: {}, zone: null, datacenter: null } as const;
	return { instance: name, host: '10.0.0.1', port: 80, ...rest, ...members };
}

function snapshot(service: string, instances: readonly ServiceInstance[], members: Partial<ServiceSnapshot> = {}) {
	return { service, revision: 1, instances, source: 'live', ageMs: 0, verifiedAt: 0, ...members } as const;
}

function published(after: ServiceSnapshot, before?: ServiceSnapshot): Published {
	const names = (one: ServiceSnapshot | undefined): string[] => (one?.instances ?? []).map((each) => each.instance);
	const added = names(after).filter((name) => !names(before).includes(name));
	const removed = names(before).filter((name) => !names(after).includes(name));
	const changed = after.instances
		.filter((one) => before?.instances.some((old) => old.instance === one.instance && old !== one))
		.map((one) => one.instance);
	return { type: 'published', snapshot: after, diff: { added, removed, changed }, ...(before && { before }) };
}

it('tells what came, what went, and what changed from what to what', () => {
	const clock = new FakeClock();
	const log = new ChangeLog(clock);
	const stays = instance('stays');
	const before = snapshot('barista', [instance('changes', { tags: ['a'], meta: { rack: 'b7', key: 'x' } }), stays]);
	const changes = instance('changes', {
		status: 'critical',
		weight: 3,
		tags: ['a', 'b'],
		zone: 'z',
		meta: { rack: 'secret', key: 'x' },
	});
	log.discovered(published(before));
	log.discovered(published(snapshot('barista', [changes, instance('new', { host: '::1' })], { revision: 2 }), before));
	// The first answer is no change.
	expect(log.changes.map(({ id, at, sourceBefore }) => ({ id, at, sourceBefore }))).toEqual([
		{ id: 1, at: clock.wallNow(), sourceBefore: 'live' },
	]);
	expect(log.changes[0]).toMatchObject({
		kind: 'instances',
		service: 'barista',
		revision: 2,
		counts: { came: 1, went: 1, changed: 1 },
		instances: [
			{ what: 'went', instance: 'stays', address: '10.0.0.1:80', fields: [] },
			{
				what: 'changed',
				instance: 'changes',
				fields: [
					{ name: 'status', from: 'passing', to: 'critical' },
					{ name: 'weight', from: '1', to: '3' },
					{ name: 'zone', from: '', to: 'z' },
					{ name: 'tags', from: 'a', to: 'a, b' },
					{ name: 'meta', from: '', to: 'rack' },
				],
			},
			{ what: 'came', instance: 'new', address: '[::1]:80', status: 'passing' },
		],
	});
});

it('keeps the last 200, and of each the first 20 instances', () => {
	const log = new ChangeLog(new FakeClock());
	const many = Array.from({ length: 500 }, (_, index) => instance(`i${index}`));
	for (let count = 0; count < CHANGES_MAX + 50; count++) {
		log.discovered(published(snapshot(`s${count}`, many), snapshot(`s${count}`, [])));
	}
	expect(log.changes).toHaveLength(CHANGES_MAX);
	expect(log.changes[0]).toMatchObject({ id: 51, service: 's50', counts: { came: 500 } });
	expect(log.changes.at(-1)).toMatchObject({ id: CHANGES_MAX + 50, instances: { length: 20 } });
});

it('an outage of all services is one change, and pushes out no other', async () => {
	const clock = new FakeClock();
	const log = new ChangeLog(clock);
	const live = snapshot('first', [instance('a')]);
	log.discovered(published(live));
	for (let count = 0; count < 1000; count++) {
		const before = snapshot(`s${count}`, live.instances);
		log.discovered(published({ ...before, source: 'last-known-good' }, before));
	}
	expect(log.changes).toHaveLength(1);
	expect(log.changes[0]).toMatchObject({
		...{ kind: 'source', source: 'last-known-good', sourceBefore: 'live', count: 1000 },
		services: { length: 10 },
		...{ id: 1, sequence: 1000 },
	});
	await clock.advance(10_001);
	const stale = snapshot('first', live.instances, { source: 'last-known-good' });
	log.discovered(published(stale, live));
	log.discovered(published(live, stale));
	expect(log.changes.map(({ source }) => source)).toEqual(['last-known-good', 'last-known-good', 'live']);
});

it('what changes for no reader is no change', () => {
	const log = new ChangeLog(new FakeClock());
	const before = snapshot('barista', [instance('a')]);
	log.discovered(published({ ...before, held: true }, before));
	log.discovered({ type: 'state-write', outcome: 'ok' });
	expect(log.changes).toEqual([]);
	log.discovered(published(snapshot('nobody', [])));
	expect(log.changes).toEqual([]);
});
