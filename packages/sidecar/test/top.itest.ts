import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { type RunningProcess, runSidecar, startSidecar, type TempSocket, tempSocket, waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { atTerminal } from './at-terminal.ts';

const LEFT = '\u001b[?25h\u001b[?1049l';

async function site(): Promise<{ place: TempSocket; sidecar: RunningProcess } & AsyncDisposable> {
	const place = await tempSocket();
	const services = join(place.directory, 'services.json');
	const list = { barista: [{ host: '1.2.3.4', port: 8765 }], till: [{ host: '1.2.3.5', port: 1, status: 'critical' }] };
	writeFileSync(services, JSON.stringify({ services: list }));
	const sidecar = await startSidecar(place.path, ['--backend', 'local', '--services', services]);
	// Somebody who watches: else nothing is there to be shown.
	const watching = ['barista', 'till'].map((name) => runSidecar(['watch', name, '--socket', place.path]));
	for (const one of watching) await waitFor('the watch', () => one.stdout() !== '');
	const close = async (): Promise<void> => {
		for (const one of [...watching, sidecar]) await one[Symbol.asyncDispose]();
		await place[Symbol.asyncDispose]();
	};
	return { place, sidecar, [Symbol.asyncDispose]: close };
}

const topAtTerminal = ({ place }: { place: TempSocket }, env?: Readonly<Record<string, string>>): RunningProcess =>
	atTerminal(['top', '--socket', place.path], env);

describe('sidecar top', () => {
	it('where the output is no terminal it prints everything once', async () => {
		await using here = await site();
		await using top = runSidecar(['top', '--socket', here.place.path]);
		const { exitCode, stdout, stderr } = await top.finished;
		expect([exitCode, stderr]).toEqual([0, '']);
		expect(stdout).toMatch(
			/^@spock\/sidecar\/\S+ {2}pid \d+ .*serving, ready.*\nservices\n.*\nbarista .*1\/1.*\ntill .*0\/1/s,
		);
		expect(stdout).not.toContain('\u001b');
		await using json = runSidecar(['top', '--once', '--json', '--socket', here.place.path]);
		expect(JSON.parse((await json.finished).stdout)).toMatchObject({ overview: { ready: true, services: 2 } });
		await using nobody = runSidecar(['top', '--socket', `${here.place.path}.no`]);
		expect(await nobody.finished).toMatchObject({ exitCode: 3 });
	});

	it('takes the whole terminal, follows its keys, and gives it back at q', async () => {
		await using here = await site();
		await using top = topAtTerminal(here);
		await waitFor('the services', () => top.stdout().includes('barista'));
		expect(top.stdout()).toContain('\u001b[?1049h');
		top.child.stdin?.write('\u001b[B\r');
		await waitFor('the instance of the second service', () => top.stdout().includes('1.2.3.5:1'));
		top.child.stdin?.write('\u001b\t');
		await waitFor('the next tab', () => top.stdout().includes('OUT B/S'));
		top.child.stdin?.write('q');
		const { exitCode, stdout } = await top.finished;
		expect([exitCode, stdout.trimEnd().endsWith(LEFT)]).toEqual([0, true]);
	});

	it('erases a line before its text: after a full line the last column would go', async () => {
		await using here = await site();
		await using top = topAtTerminal(here);
		await waitFor('the last line', () => top.stdout().includes('q quit'));
		const lines = top
			.stdout()
			.split(/(?=\u001b\[\d+;1H)/)
			.slice(1);
		expect(lines.length).toBeGreaterThan(6);
		for (const line of lines) expect(line).toMatch(/^\u001b\[\d+;1H\u001b\[K(?!.*\u001b\[K)/s);
		top.child.stdin?.write('q');
		expect(await top.finished).toMatchObject({ exitCode: 0 });
	});

	it('says that the sidecar is gone, keeps what it knew, and goes on when it is back', async () => {
		await using here = await site();
		await using top = topAtTerminal(here, { NO_COLOR: '1' });
		await waitFor('the services', () => top.stdout().includes('barista'));
		await here.sidecar.stop('SIGKILL');
		await waitFor('the trouble', () => top.stdout().includes('no sidecar at'));
		const before = top.stdout().length;
		await using _next = await startSidecar(here.place.path, ['--backend', 'local']);
		await waitFor('the next one', () => top.stdout().slice(before).includes('q quit'));
		expect(top.stdout()).not.toMatch(/\u001b\[3\dm/);
		top.child.stdin?.write('\u0003');
		expect(await top.finished).toMatchObject({ exitCode: 0 });
	});

	it.each(['SIGTERM', 'SIGHUP'] as const)('gives the terminal back at a %s', async (signal) => {
		await using here = await site();
		await using top = topAtTerminal(here);
		await waitFor('the services', () => top.stdout().includes('barista'));
		// The command is the only child of `script`.
		process.kill(Number.parseInt(readFileSync(`/proc/${top.pid}/task/${top.pid}/children`, 'utf8'), 10), signal);
		const { stdout } = await top.finished;
		expect(stdout).toContain(LEFT);
	});
});
