import { describe, expect, it } from 'vitest';

import { validateKeyQuery, validateQuery } from './validate-func-data.ts';

const LONE = 'a\ud800';

describe('a query', () => {
	it.each<[string, object]>([
		['service', { service: LONE }],
		['tags[1]', { service: 'barista', tags: ['v1', LONE] }],
		['datacenter', { service: 'barista', datacenter: LONE }],
		['peer', { service: 'barista', peer: LONE }],
		['meta', { service: 'barista', meta: { [LONE]: 'x' } }],
		['meta.track', { service: 'barista', meta: { track: LONE } }],
	])('with a lone surrogate in %s is BAD_REQUEST: no registry can have that', (path, query) => {
		expect(() => validateQuery(query)).toThrow(expect.objectContaining({ code: 'BAD_REQUEST', details: { path } }));
	});

	it('for a key is held to the same', () => {
		const refusal = expect.objectContaining({ code: 'BAD_REQUEST', retryable: false });
		expect(() => validateKeyQuery({ key: LONE })).toThrow(refusal);
		expect(() => validateKeyQuery({ key: 'app/x', datacenter: LONE })).toThrow(refusal);
	});

	it('may have any whole character', () => {
		const query = { service: 'ünï\u{1f600}', tags: ['\u{10ffff}'], meta: { a: '\u{1f600}' } };
		expect(validateQuery(query)).toEqual(query);
	});
});
