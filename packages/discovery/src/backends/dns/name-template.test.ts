import { describe, expect, it } from 'vitest';

import { DEFAULT_NAME_TEMPLATE, NameTemplate } from './name-template.ts';

describe('a template of DNS names', () => {
	it('has places for service, tag and datacenter, and leaves out those in brackets that have no value', () => {
		const consul = new NameTemplate(DEFAULT_NAME_TEMPLATE);
		expect(consul.nameOf({ service: 'barista' })).toBe('barista.service.consul');
		expect(consul.nameOf({ service: 'barista', tags: ['v1'] })).toBe('v1.barista.service.consul');
		expect(consul.nameOf({ service: 'barista', tags: [], datacenter: 'dc2' })).toBe('barista.service.dc2.dc.consul');
		expect(consul.suffix).toBe('consul');
		const kubernetes = new NameTemplate('_http._tcp.{service}.default.svc.cluster.local');
		expect(kubernetes.nameOf({ service: 'barista' })).toBe('_http._tcp.barista.default.svc.cluster.local');
		expect(kubernetes.suffix).toBe('default.svc.cluster.local');
		expect(new NameTemplate('{service}').suffix).toBe('');
	});

	it('has no name for what DNS cannot hold: such a service does not exist there', () => {
		const template = new NameTemplate('{service}.test');
		for (const service of ['two words', 'a..b', '-a', 'a-', 'ü', 'a'.repeat(64), `${'abc.'.repeat(63)}a`, 'a\0b']) {
			expect([service, template.nameOf({ service })]).toEqual([service, undefined]);
		}
		expect(template.nameOf({ service: 'web.shop' })).toBe('web.shop.test');
	});

	it('refuses a condition that it has no place for, because an answer without it would be wrong', () => {
		const template = new NameTemplate('{service}.test');
		const consul = new NameTemplate(DEFAULT_NAME_TEMPLATE);
		const refusals = [
			[template, { service: 'a', tags: ['v1'] }, 'tags'],
			[template, { service: 'a', datacenter: 'dc1' }, 'datacenter'],
			[consul, { service: 'a', tags: ['v1', 'v2'] }, 'tags'],
			[consul, { service: 'a', meta: { rack: 'b7' } }, 'meta'],
		] as const;
		for (const [which, query, path] of refusals) {
			expect(() => which.nameOf(query)).toThrow(
				expect.objectContaining({ code: 'BAD_REQUEST', details: { path }, message: expect.stringContaining(path) }),
			);
		}
		expect(consul.nameOf({ service: 'a', ...({ meta: undefined } as object) })).toBe('a.service.consul');
	});

	it('says what is wrong with a template', () => {
		const wrong = [
			['', '{service}'],
			['barista.test', '{service}'],
			['{service}.{servcie}', '{servcie}'],
			['{service}.{service}', 'once'],
			['[{tag}.{service}', 'syntax error at'],
			['{service}]', 'syntax error at'],
			['[{tag}{datacenter}].{service}', 'one placeholder'],
			['[x].{service}', 'one placeholder'],
			['{service}..test', 'not make a valid DNS name'],
			['{service}.a b', 'not make a valid DNS name'],
		] as const;
		for (const [text, reason] of wrong) expect(() => new NameTemplate(text), text).toThrow(reason);
	});
});
