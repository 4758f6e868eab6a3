import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';

import {
	type RunningProcess,
	sidecarBin,
	spawnProcess,
	startSidecar,
	type TempSocket,
	tempSocket,
	waitFor,
} from '@spock/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

let place: TempSocket;
let sidecar: RunningProcess;
let env: Record<string, string>;

beforeAll(async () => {
	place = await tempSocket();
	const services = join(place.directory, 'services.json');
	writeFileSync(services, '{"services":{"barista":[{"host":"a","port":1}],"till":[{"host":"b","port":2}]}}');
	mkdirSync(join(place.directory, 'bin'));
	for (const name of ['sidecar', 'spock']) symlinkSync(sidecarBin, join(place.directory, 'bin', name));
	const PATH = [join(place.directory, 'bin'), process.env['PATH']].join(delimiter);
	// A home of its own: shells write histories and caches there.
	env = { PATH, HOME: place.directory, TERM: 'dumb', SPOCK_SOCKET: place.path, fish_greeting: '' };
	sidecar = await startSidecar(place.path, ['--services', services]);
});

afterAll(async () => {
	await sidecar?.[Symbol.asyncDispose]();
	await place?.[Symbol.asyncDispose]();
});

/** Each shell as a person has it, at a terminal of its own, without the files of the machine's. */
const SHELLS = {
	bash: { command: 'bash --norc --noprofile -i', load: 'source <(sidecar completion bash)' },
	zsh: { command: 'zsh -f -i', load: 'source <(sidecar completion zsh)' },
	fish: { command: 'fish --no-config -i', load: 'sidecar completion fish | source' },
} as const;

describe.each(Object.entries(SHELLS))('in %s', (_shell, { command, load }) => {
	it('Tab completes commands, names that the sidecar knows, flags, and words to choose from', async () => {
		const args = ['--quiet', '--return', '--flush', '--command', command, '/dev/null'];
		await using shell = spawnProcess('script', args, { env, keepInput: true, cwd: place.directory });
		const type = (text: string): void => void shell.child.stdin?.write(text);
		// What is typed is echoed, so that what is waited for must be no part of it.
		type(`${load}; echo loaded''-42\r`);
		await waitFor('the script', () => shell.stdout().includes('loaded-42'));
		type('sidecar expl\tbar\t\r');
		await waitFor('the service', () => shell.stdout().includes('barista: 1 of 1 instances get work'));
		type('spock start --log-form\tpret\t --print-c\t | grep logFormat\r');
		await waitFor('the setting', () => /logFormat +pretty +flag: --log-format/.test(shell.stdout()));
		type('exit\r');
		expect((await shell.finished).exitCode).toBe(0);
	});
});
