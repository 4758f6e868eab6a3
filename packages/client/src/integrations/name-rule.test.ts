import { describe, expect, it } from 'vitest';

import { NameRule, type NameRuleOptions } from './name-rule.ts';

describe('the name rule', () => {
	it("one label before the suffix is the service; other hosts are nobody's", () => {
		const rule = new NameRule();
		expect(rule.query('barista.spock')).toEqual({ service: 'barista' });
		expect(rule.query('BARISTA.Spock')).toEqual({ service: 'barista' });
		expect(rule.query('barista.spock.')).toEqual({ service: 'barista' });
		expect(new NameRule({ services: { Db: 'Orders_DB' } }).query('db.spock')).toEqual({ service: 'Orders_DB' });
		expect(rule.query('barista.spock')).toBe(rule.query('barista.spock'));
		for (const host of ['barista', 'spock', 'barista.spock.example', 'example.com', '10.0.0.1', '[::1]', ''])
			expect(rule.query(host)).toBeUndefined();
	});

	it('takes another suffix, and questions of all and of single services', () => {
		const rule = new NameRule({
			suffix: '.svc.local',
			query: { datacenter: 'dc2', tags: ['v1'] },
			services: { Barista: { service: 'Coffee_Bar' }, orders: { tags: ['primary'], datacenter: 'dc1' } },
		});
		expect(rule.query('till.svc.local')).toEqual({ service: 'till', datacenter: 'dc2', tags: ['v1'] });
		expect(rule.query('barista.svc.local')).toMatchObject({ service: 'Coffee_Bar', datacenter: 'dc2' });
		expect(rule.query('orders.svc.local')).toEqual({ service: 'orders', datacenter: 'dc1', tags: ['primary'] });
		expect(rule.query('barista.spock')).toBeUndefined();
	});

	it.each(['v1.barista.spock', '.spock'])('%s is refused with what to write instead', (host) => {
		expect(() => new NameRule().query(host)).toThrow(
			`the host "${host}" does not name a service: expected one label before .spock, such as barista.spock; give tags as an option`,
		);
	});

	it.each<[NameRuleOptions, string]>([
		[{ suffix: 'spock' }, 'suffix must begin with a dot and must not end with one, got "spock"'],
		[{ suffix: '.spock.' }, 'suffix must begin with a dot and must not end with one, got ".spock."'],
		[{ suffix: '.' }, 'suffix must begin with a dot and must not end with one, got "."'],
		[{ suffix: 7 as unknown as string }, 'suffix must be'],
		[{ query: { tag: 'v1' } as object }, 'unknown member of query "tag"; did you mean "tags"?'],
		[{ query: { service: 'x' } as object }, 'unknown member of query "service"'],
		[{ services: { 'a.b': 'x' } }, 'services: "a.b" is not a host label: it must not be empty or contain a dot'],
		[{ services: { a: { tag: 'x' } as object } }, 'unknown member of services.a "tag"; did you mean "tags"?'],
		[{ query: { tags: 'v1' as unknown as string[] } }, 'tags'],
		[{ services: { barista: { datacenter: 7 as unknown as string } } }, 'datacenter'],
	])('%j is refused at once', (options, message) => {
		expect(() => new NameRule(options)).toThrow(message);
	});

	it('remembers no more names than it may, and goes on', () => {
		const rule = new NameRule();
		for (let index = 0; index < 3000; index++) expect(rule.query(`s${index}.spock`)).toEqual({ service: `s${index}` });
	});
});
