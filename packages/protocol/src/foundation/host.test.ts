import { HOSTILE_TEXTS, HOSTILE_VALUES } from '@spock/testkit';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { HOST_LENGTH_MAX, isHost } from './host.ts';

describe('a host', () => {
	it.each([
		'10.0.0.1',
		'localhost',
		'web-1',
		'web_1.internal.',
		'1st.example',
		'rack1.dc2',
		'::1',
		'::ffff:10.0.0.1',
		'fe80::1%eth0',
		'bücher.example',
		'xn--bcher-kva.example',
		'bücher.XN--bcher-kva',
		`${'a'.repeat(63)}.example`,
	])('may be %s', (host) => {
		expect(isHost(host)).toBe(true);
	});

	it.each([
		'10.0.0.1\r\n',
		'a b',
		'a:80',
		'[::1]',
		'::1%eth0/..',
		'010.0.0.1',
		'256.0.0.1',
		'1.2.3',
		'0x7f.1',
		'１.２.３.４',
		'a.1',
		'a@b',
		'a:80a@ba/b',
		'x:y@evil.example/',
		'::1]@evil.example/[',
		'a%41',
		'xn--a',
		'xn--',
		'xn--a-',
		'xn--a-b.example',
		'bücher.xn--zzzz',
		'\ud800',
		'\ufeffa',
		'a\u00ad',
		'a\u200bb',
		'x'.repeat(HOST_LENGTH_MAX + 1),
		undefined,
		80,
		['a'],
	])('is not %j', (host) => {
		expect(isHost(host)).toBe(false);
	});

	it('is judged the same however often one is', () => {
		for (let turn = 0; turn < 50_000; turn++) {
			if (!isHost('b\u00fccher.example') || !isHost('xn--bcher-kva')) expect.fail(`turn ${turn}`);
		}
	});

	it('can stand in a URL and in a header, whatever it is made of', () => {
		const part = fc.oneof(fc.constantFrom(...HOSTILE_TEXTS), fc.string({ unit: 'binary', maxLength: 8 }), fc.domain());
		const text = fc.array(part, { minLength: 1, maxLength: 3 }).map((parts) => parts.join(''));
		fc.assert(
			fc.property(fc.oneof(text, part, fc.ipV4(), fc.ipV6(), fc.constantFrom(...HOSTILE_VALUES)), (host) => {
				if (!isHost(host) || host.includes('%')) return;
				const url = new URL(`http://${host.includes(':') ? `[${host}]` : host}:8080/`);
				expect(url.port).toBe('8080');
				expect(url.pathname + url.search + url.hash + url.username).toBe('/');
			}),
			{ numRuns: 2000 },
		);
	});

	it('every IP address is one', () => {
		fc.assert(fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), (host) => isHost(host)));
	});
});
