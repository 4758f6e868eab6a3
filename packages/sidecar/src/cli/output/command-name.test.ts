import { expect, it, onTestFinished, vi } from 'vitest';

import { commandName, targetWords, typedAdvice, typedCommand } from './command-name.ts';

it('the name is that of the link or file by which the command was called', () => {
	expect(commandName('/usr/local/bin/spock')).toBe('spock');
	expect(commandName('/app/node_modules/@spock/sidecar/bin/spock.js')).toBe('spock');
	expect(commandName('/usr/local/bin/sidecar')).toBe('sidecar');
	expect(commandName('/opt/spock/bin/sidecar.js')).toBe('sidecar');
	expect(commandName('/app/test.js')).toBe('sidecar');
	expect(commandName('')).toBe('sidecar');
});

it('a command is typed as this one was started: by its name, its file, or npx', () => {
	const env = { PATH: '/usr/bin:/usr/local/bin' };
	const directory = '/home/ann/shop app';
	const typed = (path: string, more = {}): string => typedCommand({ env: { ...env, ...more }, path, directory });
	expect(typed('/usr/local/bin/spock')).toBe('spock');
	expect(typed('/home/ann/shop app/node_modules/.bin/sidecar')).toBe('node_modules/.bin/sidecar');
	expect(typed('/home/ann/shop app/node_modules/@spock/sidecar/bin/sidecar.js')).toBe(
		'node node_modules/@spock/sidecar/bin/sidecar.js',
	);
	expect(typed('/home/ann/my tools/bin/sidecar')).toBe(`'/home/ann/my tools/bin/sidecar'`);
	// Where a package manager started it. By the name of the package: without it, that of the command is another one's at the registry.
	expect(typed('/home/ann/shop app/node_modules/.bin/sidecar', { npm_command: 'exec' })).toBe('npx @spock/sidecar');
	expect(typed('/app/test.js')).toBe('sidecar');
});

it('an advised command asks the sidecar that this one was started to ask', () => {
	const args = ['get', 'web', '--socket', '/a b', '--tag', 'v2', '--token-file=t', '--json', '--', '--connect', 'x:1'];
	expect(targetWords(args)).toEqual(['--socket', '/a b', '--token-file', 't']);
	expect(targetWords(['get', '--socket'])).toEqual([]);
});

it('what a sidecar advises is shown as it is typed here, for that sidecar', () => {
	vi.stubEnv('npm_command', 'exec');
	const { argv } = process;
	process.argv = ['node', '/app/node_modules/.bin/sidecar', 'events', 'status', '--socket', '/a b/s.sock'];
	onTestFinished(() => {
		process.argv = argv;
		vi.unstubAllEnvs();
	});
	expect(typedAdvice('full: skip them with `sidecar events rewind a b --to new`, or see `kubectl get pod`')).toBe(
		"full: skip them with `npx @spock/sidecar events rewind a b --to new --socket '/a b/s.sock'`, or see `kubectl get pod`",
	);
});
