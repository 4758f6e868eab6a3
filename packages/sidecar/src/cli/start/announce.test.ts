import { resolve } from 'node:path';

import { describe, expect, it } from 'vitest';

import { typedCommand } from '../output/command-name.ts';
import { type TryItSettings, tryItCommand } from './announce.ts';

const OPEN = { isDefault: false, hasToken: false, tokenFile: undefined, tokenOnSocket: false };
const GUARDED = { ...OPEN, hasToken: true, tokenFile: '/t' };

describe('the command to try a sidecar with', () => {
	it.each<[string, TryItSettings, string | undefined]>([
		['the default socket', { ...OPEN, addresses: ['/s'], isDefault: true }, ''],
		['another socket', { ...OPEN, addresses: ['/s', 'tls://0.0.0.0:1'] }, ' --socket /s'],
		['a socket beside a port with a token', { ...GUARDED, addresses: ['/s', '127.0.0.1:1'] }, ' --socket /s'],
		['a socket with a token', { ...GUARDED, tokenOnSocket: true, addresses: ['/s'] }, ' --socket /s --token-file /t'],
		[
			'the default socket with a token',
			{ ...GUARDED, tokenOnSocket: true, isDefault: true, addresses: ['/s'] },
			' --token-file /t',
		],
		[
			'a socket with a token of the environment',
			{ ...GUARDED, tokenFile: undefined, tokenOnSocket: true, addresses: ['/s'] },
			undefined,
		],
		['a path in the directory', { ...OPEN, addresses: ['x.sock'] }, ` --socket ${resolve('x.sock')}`],
		['a path with a space', { ...OPEN, addresses: ['/a b'] }, ` --socket '/a b'`],
		// A log line would show its quote in another way.
		['a path with a quote', { ...OPEN, addresses: ['/a"'] }, undefined],
		['a port', { ...OPEN, addresses: ['127.0.0.1:1'] }, ' --connect 127.0.0.1:1'],
		['a port with a token', { ...GUARDED, addresses: ['127.0.0.1:1'] }, ' --connect 127.0.0.1:1 --token-file /t'],
		[
			'a port with a token of the environment',
			{ ...GUARDED, tokenFile: undefined, addresses: ['127.0.0.1:1'] },
			undefined,
		],
		['TLS', { ...OPEN, addresses: ['tls://127.0.0.1:1'] }, undefined],
		['every address', { ...OPEN, addresses: ['0.0.0.0:1'] }, undefined],
		['every address of IPv6', { ...OPEN, addresses: ['[::]:1'] }, undefined],
	])('%s', (_name, settings, flags) => {
		const command = flags === undefined ? undefined : `${typedCommand()} get barista${flags}`;
		expect(tryItCommand(['get', 'barista'], settings)).toBe(command);
	});
});
