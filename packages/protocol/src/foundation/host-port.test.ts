import { describe, expect, it } from 'vitest';

import { formatHostPort, splitHostPort, withBrackets } from './host-port.ts';

describe('a host and a port', () => {
	it.each<[text: string, host: string, port: number | undefined]>([
		['barista', 'barista', undefined],
		['barista:80', 'barista', 80],
		[':80', '', 80],
		['10.0.0.1:80', '10.0.0.1', 80],
		['[fd00::1]', 'fd00::1', undefined],
		['[fd00::1]:8500', 'fd00::1', 8500],
		['fd00::1:8500', 'fd00::1', 8500],
		['fd00:1:2:3:4:5:6:7:8500', 'fd00:1:2:3:4:5:6:7', 8500],
		['fd00:1:2:3:4:5:6:7', 'fd00:1:2:3:4:5:6:7', undefined],
		['fd00::a', 'fd00::a', undefined],
		['::1', '::1', undefined],
		['::', '::', undefined],
		[':::9464', '::', 9464],
		['[::]:9464', '::', 9464],
		['::ffff:10.0.0.1', '::ffff:10.0.0.1', undefined],
		['::ffff:10.0.0.1:80', '::ffff:10.0.0.1', 80],
		['[::ffff:10.0.0.1]:80', '::ffff:10.0.0.1', 80],
		['[fe80::1%eth0]:80', 'fe80::1%eth0', 80],
		['[fe80::1%25eth0]:80', 'fe80::1%eth0', 80],
		['fe80::1%eth0:80', 'fe80::1%eth0', 80],
	])('%s', (text, host, port) => {
		expect(splitHostPort(text)).toEqual({ host, port });
	});

	it.each([
		'[10.0.0.1]:80',
		'[::1',
		'::1]:80',
		'[]:80',
		'1:2:3',
		'fd00::1:99999',
		'[fd00::1]:99999',
		'a b:1',
		'a:b:80',
	])('%s is none', (text) => expect(splitHostPort(text)).toBeUndefined());

	it('a URL gets the brackets that it lacks, and others stay as they are', () => {
		expect(withBrackets('http://fd00::1:8500/v1?a=b')).toBe('http://[fd00::1]:8500/v1?a=b');
		expect(withBrackets('tls://fd00::a')).toBe('tls://[fd00::a]');
		for (const url of ['http://[fd00::1]:8500', 'http://a:80/x', 'http://u:p@a', 'nats', 'unix:///a:b', '']) {
			expect(withBrackets(url)).toBe(url);
		}
		expect(formatHostPort({ host: '::1', port: 80 })).toBe('[::1]:80');
	});
});
