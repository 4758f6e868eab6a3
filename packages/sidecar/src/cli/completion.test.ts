import { Command, Option } from 'commander';
import { describe, expect, it } from 'vitest';

import { complete } from './completion.ts';
import { addSettingFlags } from './start-flags.ts';

const program = new Command('sidecar');
program.command('hidden', { hidden: true });
program
	.command('get')
	.description('print an instance')
	.argument('<service>')
	.option('--socket <path>', 'its socket')
	.option('--json', 'as JSON');
program.command('record').argument('<file>').option('--service <name>').option('--tls-ca <file>');
program.command('wait').argument('[command...]');
const events = program.command('events');
events.command('tail').argument('<stream>').argument('[group]');
events.command('check').argument('<directory>');
const start = program.command('start').addOption(new Option('--mode <mode>').choices(['fast', 'firm', 'slow']));
await addSettingFlags(start);

function words(...line: string[]): string[] {
	return complete(program, line).candidates.map(({ word }) => word);
}

describe('what a shell may offer', () => {
	it('is the commands, those of a command, and none that is hidden', () => {
		expect(words('')).toEqual(['get', 'record', 'wait', 'events', 'start', 'help']);
		expect(words('re')).toEqual(['record']);
		expect(words('events', '')).toEqual(['tail', 'check', 'help']);
		expect(words()).toEqual(words(''));
		expect(complete(program, ['ge']).candidates).toEqual([{ word: 'get', about: 'print an instance' }]);
	});

	it('is the flags of the command, where a word begins with a dash', () => {
		expect(words('get', '--')).toEqual(['--socket', '--json', '--help']);
		expect(words('get', 'barista', '--js')).toEqual(['--json']);
		expect(words('start', '--grace')).toEqual(['--grace-ms']);
	});

	it('is the words that a flag has to choose from, in both ways to write it', () => {
		expect(words('start', '--mode', 'f')).toEqual(['fast', 'firm']);
		expect(words('start', '--mode=f')).toEqual(['--mode=fast', '--mode=firm']);
		expect(words('start', '--log-format', '')).toEqual(['auto', 'pretty', 'json']);
		expect(words('start', '--nope=f')).toEqual([]);
	});

	it('is left to the shell where a path is wanted', () => {
		expect(complete(program, ['get', '--socket', '']).paths).toBe('files');
		expect(complete(program, ['record', '']).paths).toBe('files');
		expect(complete(program, ['events', 'check', '']).paths).toBe('directories');
		expect(complete(program, ['start', '--state-dir', '']).paths).toBe('directories');
	});

	it('is asked of the sidecar that the line names, where a name is wanted', () => {
		expect(complete(program, ['get', '--socket', '/s', '--json', 'ba']).names).toEqual({
			of: 'service',
			flags: { socket: '/s' },
		});
		expect(complete(program, ['get', '--socket=/s', '']).names).toEqual({ of: 'service', flags: { socket: '/s' } });
		expect(complete(program, ['record', 'f', '--service', '']).names?.of).toBe('service');
		expect(complete(program, ['events', 'tail', '']).names?.of).toBe('stream');
		expect(complete(program, ['events', 'tail', 'orders', '']).names?.of).toBe('group');
	});

	it('is nothing behind the last argument, and files behind --', () => {
		expect(complete(program, ['get', 'barista', ''])).toEqual({ candidates: [] });
		expect(complete(program, ['wait', '--', ''])).toEqual({ candidates: [], paths: 'files' });
		expect(complete(program, ['wait', '--', 'get', '--'])).toEqual({ candidates: [], paths: 'files' });
	});
});
