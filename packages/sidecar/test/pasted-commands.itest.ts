import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import {
	type ProcessResult,
	type RunningProcess,
	runSidecar,
	spawnProcess,
	type TempSocket,
	tempSocket,
	waitFor,
} from '@spock/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const ODD_NAME = `tea & "milk" for $HOME's`;

let place: TempSocket;
let directory: string;
let socket: string;
let target: string[];
let sidecar: RunningProcess;

/** A sidecar at a path that a shell takes apart, which wants a token. */
beforeAll(async () => {
	place = await tempSocket();
	directory = join(place.directory, "it's here");
	mkdirSync(directory, { mode: 0o700 });
	socket = join(directory, 's.sock');
	const token = join(directory, 'token');
	writeFileSync(token, 'a-token-of-some-length');
	const services = join(directory, 'services.json');
	const one = { host: '127.0.0.1', port: 1 };
	const names = { barista: [one], [ODD_NAME]: [one], ill: [{ ...one, status: 'critical' }] };
	writeFileSync(services, JSON.stringify({ services: names, keys: { 'a b/limits': 1, 'a b/motd': 2 } }));
	target = ['--socket', socket, '--token-file', token];
	const flags = [
		'--backend',
		'local',
		'--services',
		services,
		'--events',
		join(directory, 'events'),
		'--grace-ms',
		'0',
	];
	sidecar = runSidecar(['start', ...target, '--token-on-socket', ...flags]);
	await waitFor('its log of events', () => sidecar.stdout().includes('taking events'));
	await run(['events', 'publish', 'orders', '1', ...target]);
});

afterAll(async () => {
	await sidecar?.[Symbol.asyncDispose]();
	await place?.[Symbol.asyncDispose]();
});

async function run(args: readonly string[]): Promise<ProcessResult> {
	await using process = runSidecar(args, { cwd: directory });
	return await process.finished;
}

/** What a shell makes of a line, in the directory in which it was printed. */
async function paste(line: string): Promise<ProcessResult> {
	await using process = spawnProcess('sh', ['-c', line], { cwd: directory });
	return await process.finished;
}

/** The commands that an output advises. */
function commandsIn(...outputs: readonly string[]): string[] {
	const all = outputs.flatMap((text) => [...text.matchAll(/`([^`]*sidecar[^`]*)`|Quote it: (.*)\n/g)]);
	return all.map(([, quoted, last]) => quoted ?? last ?? '');
}

const ADVISING: readonly [what: string, args: readonly string[], advised: RegExp][] = [
	['a service that is misspelt', ['get', 'barrista'], / list /],
	['a service that is misspelt, explained', ['explain', 'barrista'], / list /],
	['a tag that no instance has', ['get', 'barista', '--tag', 'v9'], / explain barista /],
	['the same of a service with an odd name', ['get', ODD_NAME, '--tag', 'v9'], / explain '/],
	['a peer', ['get', 'barista', '--peer', 'east', '--meta', 'a=b c'], / explain barista --meta 'a=b c' --peer east /],
	['a key that is misspelt', ['kv', 'get', 'a b/limit'], / kv get --prefix 'a b\/' /],
	['an unhealthy service, diagnosed', ['doctor', 'ill'], / explain ill /],
	['an unknown group', ['events', 'rewind', 'orders', 'none', '--to', 'new'], / events groups /],
	['an unknown stream', ['events', 'groups', 'none'], / events status /],
	['JSON that a shell took apart', ['events', 'publish', 'orders', '{total:5}'], / events publish orders '/],
	['a module that is out of date', ['typegen', '--out', 'my services.ts', '--check'], / --out 'my services.ts' /],
];

describe('a command that is advised works when it is pasted', () => {
	it.each(ADVISING)('%s', async (_what, args, advised) => {
		const { stdout, stderr } = await run([...args, ...target]);
		const commands = commandsIn(stdout, stderr);
		expect([commands, stdout, stderr]).toEqual([[expect.stringMatching(advised)], stdout, stderr]);
		for (const command of commands) expect([command, await paste(command)]).toMatchObject([command, { exitCode: 0 }]);
	});

	it('where the socket is taken', async () => {
		await using second = runSidecar(['start', '--backend', 'local', ...target, '--token-on-socket'], {
			cwd: directory,
		});
		const { stdout } = await second.finished;
		const { reason } = JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as { readonly reason: string };
		const [command = ''] = commandsIn(reason);
		expect([command, await paste(command)]).toMatchObject([expect.stringContaining(' status '), { exitCode: 0 }]);
	});

	it('in the log of a start, whose lines are pasted as they are', async () => {
		await using plain = await tempSocket();
		const services = join(plain.directory, 'my services.json');
		writeFileSync(services, JSON.stringify({ services: { "ann's": [{ host: '127.0.0.1', port: 1 }] } }));
		const token = join(plain.directory, 'a token');
		writeFileSync(token, 'a-token-of-some-length');
		const flags = ['--socket', plain.path, '--token-file', token, '--token-on-socket', '--grace-ms', '0'];
		const own = ['--services', services, '--events', join(plain.directory, 'events'), '--events-streams', 'bills'];
		await using started = runSidecar(['start', '--backend', 'local', ...flags, ...own], { cwd: directory });
		const shown = await waitFor('both', () => {
			const commands = [...started.stdout().matchAll(/"command":"((?:[^"\\]|\\.)*)"/g)].map(([, one = '']) => one);
			return commands.length === 1 && started.stdout().includes('taking events') ? commands : undefined;
		});
		// The name of the service has a quote, which a log line would write in another way: that command is left out.
		expect(shown).toEqual([expect.stringContaining(' events publish bills 42 --socket ')]);
		for (const line of shown) expect([line, await paste(line)]).toMatchObject([line, { exitCode: 0, stdout: '1\n' }]);
	});
});
