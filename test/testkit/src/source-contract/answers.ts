import { expect, it } from 'vitest';

import { waitFor } from '../wait-for.ts';
import { hostsOf, type MakeFixture, type SourceTraits } from './fixture.ts';

/** What `get`, `peek` and `list` promise while the registry is well. */
export function testAnswers(makeFixture: MakeFixture, traits: SourceTraits): void {
	it('get gives the snapshot of a known service, and a snapshot without instances of an unknown one', async () => {
		await using fixture = await makeFixture();
		await fixture.setService('barista', ['10.0.0.1:80', '10.0.0.2:81']);
		const known = await fixture.source.get({ service: 'barista' });
		expect(hostsOf(known)).toEqual(['10.0.0.1:80', '10.0.0.2:81']);
		expect(known).toMatchObject({ service: 'barista', source: 'live', ageMs: 0 });
		expect(known).not.toHaveProperty('tags');
		expect(known).not.toHaveProperty('datacenter');
		const unknown = await fixture.source.get({ service: 'nobody' });
		expect(unknown).toMatchObject({ service: 'nobody', instances: [], source: 'live' });
	});

	it('a snapshot is sorted by the names of its instances, which are unique, and frozen through and through', async () => {
		await using fixture = await makeFixture();
		await fixture.setService('barista', ['10.0.0.3:80', '10.0.0.1:80', '10.0.0.2:80']);
		const snapshot = await fixture.source.get({ service: 'barista' });
		const names = snapshot.instances.map(({ instance }) => instance);
		expect(names).toEqual([...new Set(names)].sort());
		expect(names).toHaveLength(3);
		for (const part of [snapshot, snapshot.instances, ...snapshot.instances]) expect(Object.isFrozen(part)).toBe(true);
	});

	it('peek never starts anything, and gives what is known in this tick', async () => {
		await using fixture = await makeFixture();
		await fixture.setService('barista', ['10.0.0.1:80']);
		expect(fixture.source.peek({ service: 'barista' })).toBeUndefined();
		await fixture.source.get({ service: 'barista' });
		expect(hostsOf(fixture.source.peek({ service: 'barista' }))).toEqual(['10.0.0.1:80']);
	});

	it('while nothing changes the very same snapshot is given again, and a change has a higher revision', async () => {
		await using fixture = await makeFixture();
		await fixture.setService('barista', ['10.0.0.1:80']);
		const first = await fixture.source.get({ service: 'barista' });
		expect(await fixture.source.get({ service: 'barista' })).toBe(first);
		expect(fixture.source.peek({ service: 'barista' })).toBe(first);
		await fixture.setService('barista', ['10.0.0.2:80']);
		const next = await waitFor('the change', () => {
			const known = fixture.source.peek({ service: 'barista' });
			return hostsOf(known)?.[0] === '10.0.0.2:80' ? known : undefined;
		});
		expect(next.revision).toBeGreaterThan(first.revision);
		expect(hostsOf(first)).toEqual(['10.0.0.1:80']);
	});

	// A case that does not apply to a source is left out; none is skipped, so that no skipped test passes for one.
	if (traits.hasTags !== false) testTags(makeFixture);
	if (traits.hasDatacenter !== false) testDatacenter(makeFixture);
	if (traits.canList !== false) testList(makeFixture);
	else testNoList(makeFixture);
}

function testTags(makeFixture: MakeFixture): void {
	it('tags choose instances, are told in the snapshot, and in any order are one question', async () => {
		await using fixture = await makeFixture();
		await fixture.setService('barista', ['10.0.0.1:80'], ['v1', 'eu']);
		await fixture.setService('waiter', ['10.0.0.2:80'], ['v2']);
		const one = await fixture.source.get({ service: 'barista', tags: ['v1'] });
		expect(hostsOf(one)).toEqual(['10.0.0.1:80']);
		expect(one.instances[0]?.tags).toContain('v1');
		expect((await fixture.source.get({ service: 'waiter', tags: ['v1'] })).instances).toEqual([]);
		expect(one).toMatchObject({ service: 'barista', tags: ['v1'] });
		expect(fixture.source.peek({ service: 'barista' })).toBeUndefined();
		expect(fixture.source.peek({ service: 'barista', tags: ['v1', 'v1'] })).toBe(one);
		expect((await fixture.source.get({ service: 'barista', tags: [] })).tags).toBeUndefined();
	});
}

function testDatacenter(makeFixture: MakeFixture): void {
	it('a datacenter that was asked for is told in the snapshot, and is a question of its own', async () => {
		await using fixture = await makeFixture();
		const { datacenter, source } = fixture;
		if (datacenter === undefined)
			throw new Error('the fixture names no datacenter: its trait hasDatacenter must be false');
		await fixture.setService('barista', ['10.0.0.1:80']);
		const snapshot = await source.get({ service: 'barista', datacenter });
		expect(snapshot).toMatchObject({ service: 'barista', datacenter });
		expect(hostsOf(snapshot)).toEqual(['10.0.0.1:80']);
		expect(source.peek({ service: 'barista' })).toBeUndefined();
	});
}

function testList(makeFixture: MakeFixture): void {
	it('list gives the names of all services', async () => {
		await using fixture = await makeFixture();
		await fixture.setService('barista', ['10.0.0.1:80']);
		await fixture.setService('waiter', ['10.0.0.2:80']);
		// A list may be a second old.
		await waitFor('both names', async () => {
			const { services, source, ageMs } = await fixture.source.list({});
			expect({ source, ageMs }).toEqual({ source: 'live', ageMs: expect.any(Number) });
			const names = services.map(({ name }) => name);
			return names.includes('barista') && names.includes('waiter');
		});
	});
}

function testNoList(makeFixture: MakeFixture): void {
	it('list rejects with UNKNOWN_FUNC where there is no list', async () => {
		await using fixture = await makeFixture();
		await expect(fixture.source.list({})).rejects.toMatchObject({ code: 'UNKNOWN_FUNC', retryable: false });
	});
}
