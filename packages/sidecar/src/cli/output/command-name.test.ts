import { expect, it } from 'vitest';

import { commandName, typedCommand } from './command-name.ts';

it('the name is that of the link or file by which the command was called', () => {
	expect(commandName('/usr/local/bin/spock')).toBe('spock');
	expect(commandName('/app/node_modules/@spock/sidecar/bin/spock.js')).toBe('spock');
	expect(commandName('/usr/local/bin/sidecar')).toBe('sidecar');
	expect(commandName('/opt/spock/bin/sidecar.js')).toBe('sidecar');
	expect(commandName('/app/test.js')).toBe('sidecar');
	expect(commandName('')).toBe('sidecar');
});

it('a command to type begins with npx only where a package manager started this one', () => {
	expect(typedCommand({})).toBe(commandName());
	expect(typedCommand({ npm_command: 'exec' })).toBe(`npx --no-install ${commandName()}`);
});
