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
	});

	it('has no name for a query whose name would mean another one', () => {
		const template = new NameTemplate(DEFAULT_NAME_TEMPLATE);
		for (const query of [
			...['api.v1', 'primary.db', '_barista._tcp', 'x.query', 'barista.', '.barista'].map((service) => ({ service })),
			{ service: '_barista', tags: ['_tcp'] },
			{ service: 'a', tags: ['v1._x'] },
			{ service: 'a', tags: ['v1.'] },
			{ service: 'a', datacenter: 'dc1.dc' },
			{ service: 'a', datacenter: 'Query' },
			{ service: 'a', datacenter: '_dc' },
		]) {
			expect([query, template.nameOf(query)]).toEqual([query, undefined]);
		}
		expect(template.nameOf({ service: '_barista' })).toBe('_barista.service.consul');
		expect(template.nameOf({ service: 'query', tags: ['v1.2'] })).toBe('v1.2.query.service.consul');
		expect(new NameTemplate('{service}[.{tag}].{datacenter}.test').nameOf({ service: 'a' })).toBeUndefined();
		expect(new NameTemplate('{service}.t{tag}.test').nameOf({ service: 'a' })).toBeUndefined();
		expect(new NameTemplate('{service}.{datacenter}.test').nameOf({ service: 'a', datacenter: 'query' })).toBe(
			'a.query.test',
		);
		expect(new NameTemplate('{service}[.{tag}].test').nameOf({ service: 'a', tags: ['v1.2'] })).toBeUndefined();
		expect(new NameTemplate('{service}.test').nameOf({ service: 'web.shop' })).toBeUndefined();
	});

	it('is refused where two queries could have the same name', () => {
		for (const text of ['{service}-{tag}.test', '{service}[-{datacenter}].test', '[{tag}]{service}.test']) {
			expect(() => new NameTemplate(text), text).toThrow('dot between two placeholders');
		}
		for (const text of ['[{tag}.]{service}[.{datacenter}].test', '{service}[.{tag}][.{datacenter}].test']) {
			expect(() => new NameTemplate(text), text).toThrow('two queries could have the same name');
		}
		for (const text of ['[{tag}.]{service}.test', '{service}[.t.{tag}][.dc.{datacenter}].test', 'svc-{service}.test']) {
			expect(new NameTemplate(text).text).toBe(text);
		}
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
