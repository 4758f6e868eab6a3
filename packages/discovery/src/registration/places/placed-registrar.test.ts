import { describe, expect, it } from 'vitest';

import { b1, passing, placedSite, terms } from '../../../test/placed-site.ts';
import type { PlacedRegistrar } from './placed-registrar.ts';

const register = (registrar: PlacedRegistrar, definition = b1) => registrar.register(definition, passing, terms);
const unavailable = { code: 'UNAVAILABLE' };
const anew = { code: 'NO_SUCH_SERVICE' };

describe('a registration at one of several places', () => {
	it('is at the first that can be reached, and stays there', async () => {
		const { registrar, nodes, where } = placedSite();
		expect(await register(registrar)).toBe('n0/b1');
		await registrar.report('b1', passing);
		expect(where()).toEqual(['n0']);
		await registrar.deregister('b1');
		nodes[0].isReachable = false;
		expect(await register(registrar)).toBe('n1/b1');
	});

	it('moves when its node has failed, as is published, and is taken out there when that is back', async () => {
		const { registrar, nodes, lost, publish, where, clock } = placedSite();
		await register(registrar);
		Object.assign(nodes[0], { state: 'failed', isReachable: false });
		publish();
		expect(lost).toEqual(['b1']);
		await expect(registrar.report('b1', passing)).rejects.toMatchObject(anew);
		expect(await register(registrar)).toBe('n1/b1');
		Object.assign(nodes[0], { state: 'well', isReachable: true });
		await clock.advance(15_000);
		expect(where()).toEqual(['n1']);
	});

	it('moves when its node has left, although its agent still answers', async () => {
		const { registrar, nodes, lost, publish, where } = placedSite();
		await register(registrar);
		publish();
		nodes[0].state = 'left';
		publish();
		await Promise.resolve();
		expect(lost).toEqual(['b1']);
		await expect(registrar.report('b1', passing)).rejects.toMatchObject(anew);
		expect(await register(registrar)).toBe('n1/b1');
		await Promise.resolve();
		expect(where()).toEqual(['n1']);
	});

	it('stays where it cannot be reached for as long as readers are sent to it, and moves when its time to live has passed', async () => {
		const { registrar, nodes, publish, where, lost } = placedSite();
		await register(registrar);
		nodes[0].isReachable = false;
		await expect(registrar.report('b1', passing)).rejects.toMatchObject(unavailable);
		await expect(register(registrar)).rejects.toMatchObject({
			...unavailable,
			message: expect.stringContaining('still published as well at n0'),
		});
		expect(where()).toEqual(['n0']);
		Object.assign(nodes[0].has.get('b1') ?? expect.fail(), { isExpired: true });
		publish();
		expect(lost).toEqual(['b1']);
		expect(await register(registrar)).toBe('n1/b1');
	});

	it('stays at an agent whose node has another name now', async () => {
		const { registrar, nodes, publish, where } = placedSite();
		await register(registrar);
		publish();
		nodes[0].name = 'renamed';
		publish();
		await Promise.resolve();
		expect(await register(registrar)).toBe('renamed/b1');
		expect(where()).toEqual(['renamed']);
	});

	it('does not move where what is published is unknown', async () => {
		const { registrar, nodes, blind, where } = placedSite();
		await register(registrar);
		nodes[0].isReachable = false;
		blind();
		await expect(registrar.report('b1', passing)).rejects.toMatchObject(unavailable);
		await expect(register(registrar)).rejects.toMatchObject(unavailable);
		expect(where()).toEqual(['n0']);
	});

	it('moves with its address, and with an operator’s maintenance', async () => {
		const { registrar, nodes, publish } = placedSite();
		const { host: _, ...hostless } = b1;
		await register(registrar, hostless);
		Object.assign(nodes[0].has.get('b1') ?? expect.fail(), { maintenance: 'disk' });
		publish();
		Object.assign(nodes[0], { state: 'left', isReachable: false });
		publish();
		await Promise.resolve();
		expect(await register(registrar, hostless)).toBe('n1/b1');
		expect(nodes[1].has.get('b1')).toMatchObject({ definition: { host: '10.9.9.0' }, maintenance: 'disk' });
		await register(registrar, { ...hostless, tags: ['v2'] });
		expect(nodes[1].has.get('b1')).toMatchObject({ definition: { host: '10.9.9.0' } });
	});

	it('moves with both where its service is one too many to be watched, and nothing was ever published of it', async () => {
		const { registrar, nodes, watchers } = placedSite();
		for (let n = 0; n < 32; n++) await register(registrar, { ...b1, id: `a${n}`, service: `a${n}` });
		const { host: _, ...hostless } = b1;
		await register(registrar, hostless);
		expect([...watchers.values()]).not.toContain('barista');
		Object.assign(nodes[0].has.get('b1') ?? expect.fail(), { maintenance: 'disk' });
		await registrar.report('b1', passing);
		Object.assign(nodes[0], { state: 'left', isReachable: false });
		await expect(registrar.report('b1', passing)).rejects.toMatchObject(anew);
		expect(await register(registrar, hostless)).toBe('n1/b1');
		expect(nodes[1].has.get('b1')).toMatchObject({ definition: { host: '10.9.9.0' }, maintenance: 'disk' });
	});

	it('is not put into maintenance again that an operator has ended', async () => {
		const { registrar, nodes, publish } = placedSite();
		await register(registrar);
		const entry = nodes[0].has.get('b1') ?? expect.fail();
		entry.maintenance = 'disk';
		publish();
		delete entry.maintenance;
		Object.assign(nodes[0], { state: 'failed', isReachable: false });
		expect(await register(registrar)).toBe('n1/b1');
		expect(nodes[1].has.get('b1')?.maintenance).toBeUndefined();
	});

	it('is watched as soon as a watch is free, and whatever the number of services of another app', async () => {
		const { registrar, watchers } = placedSite();
		const other = (n: number) => ({ ...b1, id: `a${n}`, service: `a${n}`, app: 'other' });
		for (let n = 0; n < 40; n++) await register(registrar, other(n));
		expect(watchers.size).toBe(32);
		await registrar.deregister('a0');
		expect([...watchers.values()]).toContain('a32');
		await register(registrar, { ...b1, app: 'barista' });
		expect([...watchers.values()]).toContain('barista');
		expect(watchers.size).toBe(32);
	});

	it('is taken out again where an answer was lost, or an old disk brings it back', async () => {
		const { registrar, nodes, publish, where, clock } = placedSite();
		await register(registrar);
		nodes[2].has.set('b1', { definition: b1, isExpired: false });
		publish();
		await clock.advance(0);
		expect(where()).toEqual(['n0']);
	});

	it('is not mistaken for that of another sidecar with the same owner and id, whose address is another one', async () => {
		const { registrar, nodes, publish, where, clock } = placedSite();
		const theirs = { ...b1, host: '10.0.0.2' };
		nodes[2].has.set('b1', { definition: theirs, isExpired: false });
		expect(await register(registrar)).toBe('n0/b1');
		publish();
		await clock.advance(15_000);
		expect(where()).toEqual(['n0', 'n2']);
		Object.assign(nodes[0], { state: 'failed', isReachable: false });
		publish();
		expect(await register(registrar)).toBe('n1/b1');
		expect(nodes[2].has.get('b1')).toMatchObject({ definition: theirs });
	});

	it('ends while its failed place cannot be reached, and is taken out there later; one that is served is waited for', async () => {
		const { registrar, nodes, where, clock } = placedSite();
		await register(registrar);
		nodes[0].isReachable = false;
		await expect(registrar.deregister('b1')).rejects.toMatchObject(unavailable);
		nodes[0].state = 'failed';
		await registrar.deregister('b1');
		expect(where()).toEqual(['n0']);
		Object.assign(nodes[0], { state: 'well', isReachable: true });
		await clock.advance(15_000);
		expect(where()).toEqual([]);
	});

	it('that was never written is looked for wherever that can be, by its owner', async () => {
		const { registrar, nodes, writes } = placedSite();
		nodes[0].isReachable = false;
		expect(await registrar.owned('pod')).toEqual([]);
		await registrar.deregister('b1');
		expect(writes.slice(2)).toEqual(['deregister b1 of pod at n1', 'deregister b1 of pod at n2']);
		for (const node of nodes) node.isReachable = false;
		await expect(registrar.deregister('b1')).rejects.toMatchObject(unavailable);
	});

	it('is found by the next process, of two the one that is served, and none twice', async () => {
		const { registrar, nodes, where, clock, another } = placedSite();
		await register(registrar);
		Object.assign(nodes[0], { state: 'failed', isReachable: false });
		await registrar.report('b1', passing).catch(() => undefined);
		await register(registrar);
		Object.assign(nodes[0].has.get('b1') ?? expect.fail(), { isExpired: true });
		Object.assign(nodes[0], { state: 'well', isReachable: true });
		registrar.close();
		const next = another();
		expect(await next.owned('pod')).toMatchObject([{ instance: 'n1/b1' }]);
		await clock.advance(0);
		expect(where()).toEqual(['n1']);
		expect(await register(next)).toBe('n1/b1');
		nodes[0].isReachable = false;
		expect(await another().owned('pod')).toMatchObject([{ instance: 'n1/b1' }]);
	});

	it('is taken out where an earlier process left it, also without a watch, once that place is back', async () => {
		const { registrar, nodes, where, clock, another } = placedSite();
		await register(registrar);
		// As one that was killed between the write at the next place and the end at the one before.
		nodes[1].has.set('b1', { definition: b1, isExpired: false });
		nodes[1].isReachable = false;
		registrar.close();
		const next = another();
		for (let n = 0; n < 32; n++) await register(next, { ...b1, id: `a${n}`, service: `a${n}` });
		await next.owned('pod');
		expect(await register(next)).toBe('n0/b1');
		nodes[1].isReachable = true;
		await clock.advance(15_000);
		expect(where()).toEqual(['n0']);
	});

	it('of another app is not taken, also while the place of that cannot be reached', async () => {
		const { registrar, nodes, another } = placedSite();
		await register(registrar, { ...b1, app: 'till' });
		Object.assign(nodes[0], { state: 'failed', isReachable: false });
		await expect(register(another(), { ...b1, app: 'barista' })).rejects.toMatchObject({ code: 'ACL_DENIED' });
		expect(await register(another(), { ...b1, app: 'till' })).toBe('n1/b1');
	});

	it('has no watch and no timer once it is closed', async () => {
		const { registrar, nodes, watchers, clock } = placedSite();
		await register(registrar);
		Object.assign(nodes[0], { state: 'failed', isReachable: false });
		await registrar.report('b1', passing).catch(() => undefined);
		await register(registrar);
		registrar.close();
		expect(watchers.size).toBe(0);
		expect(clock.pendingTimers).toBe(0);
	});
});
