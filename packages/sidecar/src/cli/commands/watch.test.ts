import type { KeySnapshot, ServiceInstance, ServiceSnapshot } from '@spock/protocol';
import { describe, expect, it } from 'vitest';

import { PLAIN } from '../output/page.ts';
import { formatKeys } from './kv.ts';
import { formatSnapshot } from './watch.ts';

const AT = new Date('2026-01-31T12:00:00Z');
const HEAD = '2026-01-31T12:00:00.000Z  #2 live  ';

function instance(name: string, more: Partial<ServiceInstance> = {}): ServiceInstance {
	const facts = { weight: 1, status: 'passing', tags: [], meta: {}, zone: null, datacenter: null } as const;
	return { instance: name, host: '10.0.0.1', port: 80, ...facts, ...more };
}

function snapshot(instances: readonly ServiceInstance[], more: Partial<ServiceSnapshot> = {}): ServiceSnapshot {
	return { service: 'till', revision: 2, source: 'live', ageMs: 0, verifiedAt: 0, instances, ...more };
}

function shown(after: ServiceSnapshot, before?: ServiceSnapshot): string[] {
	return formatSnapshot(after, before, PLAIN, AT).toString().split('\n');
}

describe('the lines of a watch', () => {
	it('are all instances first', () => {
		const all = snapshot([instance('n/a'), instance('n/b', { port: 81, status: 'critical' })]);
		expect(shown(all)).toEqual([`${HEAD}10.0.0.1:80, 10.0.0.1:81 critical`]);
		expect(shown(snapshot([]))).toEqual([`${HEAD}no instance`]);
	});

	it('are then what came, went and differs, a line for each', () => {
		const before = snapshot([
			instance('n/a'),
			instance('n/b'),
			instance('n/c', { tags: ['v1'], meta: { key: 'secret' } }),
		]);
		const after = snapshot([
			instance('10.0.0.1:80'),
			instance('n/b', { status: 'critical' }),
			instance('n/c', { tags: ['v2'], meta: { key: 'other' }, weight: 3 }),
			instance('n/d', { status: 'warning' }),
		]);
		expect(shown(after, before)).toEqual([
			`${HEAD}+ 10.0.0.1:80`,
			`${HEAD}- n/a 10.0.0.1:80`,
			`${HEAD}~ n/b 10.0.0.1:80 passing → critical`,
			`${HEAD}~ n/c 10.0.0.1:80 weight 1 → 3, tags v1 → v2, metadata key`,
			`${HEAD}+ n/d 10.0.0.1:80 warning`,
		]);
	});

	it('say of the same instances what else is different', () => {
		const before = snapshot([instance('n/a')]);
		const stale = snapshot([instance('n/a')], { source: 'last-known-good', ageMs: 227_000, held: true });
		expect(shown(stale, before)).toEqual([
			'2026-01-31T12:00:00.000Z  #2 last-known-good (3m 47s old) held  live → last-known-good',
		]);
		expect(shown(snapshot([instance('n/a')], { panic: true }), before)).toEqual([
			'2026-01-31T12:00:00.000Z  #2 live panic  the same instances',
		]);
		expect(shown(snapshot([]), before)).toEqual([`${HEAD}no instance`]);
	});

	it('are the same of keys with one prefix', () => {
		const facts = { key: 'app/', prefix: true, revision: 2, source: 'live', ageMs: 0, verifiedAt: 0 } as const;
		const keys = (...pairs: [string, string][]): KeySnapshot => ({
			...facts,
			entries: pairs.map(([key, value]) => ({ key, value })),
		});
		const before = keys(['app/a', '1'], ['app/b', '2'], ['app/c', '3']);
		const lines = (after: KeySnapshot, from?: KeySnapshot): string[] =>
			formatKeys(after, from, PLAIN, AT).toString().split('\n');
		expect(lines(before)).toEqual([`${HEAD}app/a=1  app/b=2  app/c=3`]);
		expect(lines(keys(['app/a', '1'], ['app/b', '9'], ['app/d', '4']), before)).toEqual([
			`${HEAD}~ app/b=9`,
			`${HEAD}- app/c`,
			`${HEAD}+ app/d=4`,
		]);
		expect(lines(keys(), before)).toEqual([`${HEAD}no key`]);
	});
});
