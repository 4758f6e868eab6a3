import { describe, expect, it } from 'vitest';

import { readLeanCommand } from './lean.ts';

describe('the commands that need no command line parser', () => {
	it('health has the flags that it has everywhere', () => {
		expect(readLeanCommand(['health'])).toEqual({ name: 'health', flags: {} });
		const args = ['health', '--socket', '/a', '--timeout=70', '--json', '--token-file', 'f', '--tls-ca=a=b'];
		const flags = { socket: '/a', timeout: '70', json: true, tokenFile: 'f', tlsCa: 'a=b' };
		expect(readLeanCommand(args)).toEqual({ name: 'health', flags });
		expect(readLeanCommand(['health', '--socket', '/a', '--socket', '/b'])).toMatchObject({ flags: { socket: '/b' } });
	});

	it('wait has a command behind two dashes, whose own flags and dashes are its own', () => {
		expect(readLeanCommand(['wait'])).toEqual({ name: 'wait', flags: {}, command: [] });
		const args = ['wait', '--timeout', '5s', '--', 'app', '--socket', 'x', '--', '-v'];
		const command = ['app', '--socket', 'x', '--', '-v'];
		expect(readLeanCommand(args)).toEqual({ name: 'wait', flags: { timeout: '5s' }, command });
	});

	it.each([
		[[]],
		[['get', 'barista']],
		[['health', '--help']],
		[['health', '-h']],
		[['health', 'now']],
		[['health', '--socket']],
		[['health', '--socket', '--json']],
		[['health', '--timeuot', '5']],
		[['health', '--json=yes']],
		[['wait', '--json']],
		[['wait', 'node', 'app.js']],
		[['wait', '--help', '--', 'app']],
	])('%j is left to whoever can explain it', (args) => {
		expect(readLeanCommand(args)).toBeUndefined();
	});
});
