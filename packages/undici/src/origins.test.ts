import { describe, expect, it } from 'vitest';

import { Origins } from './origins.ts';

describe('an origin', () => {
	const origins = new Origins({ services: { till: { service: 'Till_DB', tags: ['v1'] } } });

	it('is that of a service by its host’s name, with or without a port, in text or as a URL', () => {
		const barista = { protocol: 'http:', host: 'barista.spock', query: { service: 'barista' } };
		expect(origins.find('http://barista.spock')).toMatchObject(barista);
		expect(origins.find(new URL('http://BARISTA.spock/menu'))).toMatchObject(barista);
		expect(origins.find('https://till.spock:8443')).toMatchObject({
			protocol: 'https:',
			host: 'till.spock:8443',
			query: { service: 'Till_DB', tags: ['v1'] },
		});
	});

	it.each([
		'http://127.0.0.1:80',
		'http://barista.internal',
		'ftp://barista.spock',
		'no url',
		undefined,
		null,
		{ protocol: 'http:' },
	])('%j is left alone', (origin) => {
		expect(origins.find(origin)).toBeUndefined();
		expect(origins.find(origin)).toBeUndefined();
	});

	it.each(['http://a.barista.spock', 'http://.spock'])('%s is refused each time', (origin) => {
		for (let turn = 0; turn < 2; turn++) expect(() => origins.find(origin)).toThrow('does not name a service');
	});

	it('is remembered, and never more of them than a bound', () => {
		const first = origins.find('http://barista.spock');
		expect(origins.find('http://barista.spock')).toBe(first);
		for (let count = 0; count < 1024; count++) origins.find(`http://other-${count}.example`);
		expect(origins.find('http://barista.spock')).not.toBe(first);
		expect(origins.find('http://barista.spock')).toEqual(first);
	});
});
