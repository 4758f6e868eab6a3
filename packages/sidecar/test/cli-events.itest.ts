import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { connect } from '@spock/client';
import { openEvents } from '@spock/client/events';
import {
	type ProcessResult,
	type RunningProcess,
	runSidecar,
	sidecarBin,
	spawnProcess,
	startSidecar,
	type TempSocket,
	tempSocket,
	withPlainCommands,
} from '@spock/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

let place: TempSocket;
let directory: string;
let sidecar: RunningProcess;

async function events(...args: string[]): Promise<ProcessResult> {
	await using process = runSidecar(['events', ...args], { env: { SPOCK_SOCKET: place.path } });
	return await process.finished;
}

/** With lines on its input. */
async function publishLines(lines: readonly string[], ...args: string[]): Promise<ProcessResult> {
	const options = { env: { SPOCK_SOCKET: place.path }, input: lines.join('\n') };
	await using command = spawnProcess(process.execPath, [sidecarBin, 'events', 'publish', ...args], options);
	return await command.finished;
}

beforeAll(async () => {
	place = await tempSocket();
	directory = join(place.directory, 'log');
	const services = join(place.directory, 'services.json');
	await writeFile(services, '{"services":{}}');
	sidecar = await startSidecar(place.path, ['--backend', 'local', '--services', services, '--events', directory]);
});

afterAll(async () => {
	await sidecar?.[Symbol.asyncDispose]();
	await place?.[Symbol.asyncDispose]();
});

describe('sidecar events', () => {
	it('publish prints the position of each event, and that an id was there already', async () => {
		const one = await events('publish', 'orders', '{"total":5}', '--id', 'o-1', '--key', 'c-1', '--header', 'a=b');
		expect(one).toMatchObject({ exitCode: 0, stderr: '' });
		const position = one.stdout.trim();
		expect(position).toMatch(/^\d+$/);
		const again = await events('publish', 'orders', '{"total":5}', '--id', 'o-1');
		expect(again.stdout).toBe(`${position} (an event with this id was there already)\n`);
		const lines = await publishLines(['1', '', '"\\u001b[31m"'], 'orders', '--json');
		expect(
			lines.stdout
				.trimEnd()
				.split('\n')
				.map((line) => JSON.parse(line)),
		).toMatchObject([{ duplicate: false }, { duplicate: false }]);
	});

	it('publish: a line that is not JSON is 2, and the lines above it are published and printed', async () => {
		const { exitCode, stdout, stderr } = await publishLines(['1', '{', '3'], 'half');
		expect({ exitCode, stdout: /^\d+\n$/.test(stdout) }).toEqual({ exitCode: 2, stdout: true });
		expect(stderr).toContain('line 2 is not JSON');
		expect(stderr).toContain('; published: line 1; not published: line 2, what follows line 2\n');
		const long = `"${'x'.repeat(600_000)}"`;
		const refused = await publishLines(['1', '2', long, '4'], 'half');
		expect(refused).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('FRAME_TOO_LARGE') });
		expect(refused.stderr).toMatch(
			/; published: lines 1 to 2(, line 4)?; not published: line 3, what follows line [34]\n$/,
		);
		const none = await publishLines(['{', '2'], 'half');
		expect(none.stderr).toContain('; no line was published; not published: line 1, what follows line 1\n');
	});

	it('wrong usage is 2, no sidecar 3', async () => {
		const wrong = await Promise.all([
			events('publish', 'orders', '{'),
			events('publish', 'or ders', '1'),
			events('publish', 'orders', '1', '--header', 'a'),
			events('tail', 'orders', '--from', 'yesterday'),
			events('tail', 'orders', '--count', '0'),
			events('rewind', 'orders', 'billing'),
			events('check', join(place.directory, 'none')),
		]);
		expect(wrong.map(({ exitCode }) => exitCode)).toEqual(wrong.map(() => 2));
		expect(wrong[0]?.stderr).toMatch(/Quote it: \S.* events publish orders '/);
		expect(wrong[3]?.stderr).toContain('2026-01-31T12:00:00Z');
		expect(await events('status', '--socket', '/nowhere/at.sock')).toMatchObject({ exitCode: 3 });
	});

	it('a stream that is misspelt is 1, with a hint', async () => {
		const error = { exitCode: 1, stdout: '', stderr: 'sidecar: no such stream: ordres; did you mean orders?\n' };
		expect(await events('groups', 'ordres')).toMatchObject(error);
		expect(await events('dead', 'ordres')).toMatchObject(error);
	});

	it('status and groups tell of streams and groups; rewind moves one', async () => {
		const diplomat = await connect({ path: place.path });
		for await (const event of openEvents({ diplomat }).consume('orders', { group: 'billing', from: 'first' })) {
			event.ack();
			break;
		}
		await diplomat.drain();
		expect(await events('groups', 'half')).toMatchObject({ exitCode: 0, stderr: 'no group has consumed it yet\n' });
		expect((await events('groups')).stdout).toContain('orders billing  at');
		const [group] = JSON.parse((await events('groups', 'orders', '--json')).stdout);
		expect(group).toMatchObject({ group: 'billing', lag: 2, consumers: 0 });
		const rewound = await events('rewind', 'orders', 'billing', '--to', 'first', '--json');
		expect(JSON.parse(rewound.stdout)).toEqual({ position: expect.any(Number) });
		const past = await events('rewind', 'orders', 'billing', '--to', '999999');
		expect(past.stdout).toMatch(/^group billing of stream orders is at \d+, behind every event\n$/);
		const first = await events('rewind', 'orders', 'billing', '--to', 'first');
		expect(first.stdout).toMatch(/^group billing of stream orders is at \d+, lag 3\n$/);
		const { stdout } = await events('status');
		expect(stdout).toContain(`log          receiving`);
		expect(stdout).toContain('orders billing  at 1, lag 3');
		expect(JSON.parse((await events('status', '--json')).stdout)).toMatchObject({ state: 'receiving', directory });
		const unknown = await events('rewind', 'orders', 'nobody', '--to', 'new');
		const error = 'sidecar: no such group of stream orders: nobody; `sidecar events groups` shows them\n';
		expect([unknown.exitCode, withPlainCommands(unknown.stderr)]).toEqual([1, error]);
	});

	it('where no events are taken each says what to do, and 1', async () => {
		await using other = await tempSocket();
		const services = join(place.directory, 'services.json');
		await using _ = await startSidecar(other.path, ['--backend', 'local', '--services', services]);
		const at = ['--socket', other.path];
		const all = await Promise.all([
			events('status', ...at),
			events('groups', ...at),
			events('publish', 'orders', '1', ...at),
			events('tail', 'orders', ...at),
			events('dead', 'orders', ...at),
			events('rewind', 'orders', 'billing', '--to', 'new', ...at),
			events('delete-group', 'orders', 'billing', ...at),
		]);
		for (const { exitCode, stderr } of all) {
			expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: expect.stringContaining('--events DIR') });
		}
	});

	it('check reads a log that no sidecar uses, and finds what is damaged in it', async () => {
		const busy = await events('check', directory);
		expect(busy).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('stop it first') });
		await sidecar.stop();
		const good = await events('check', directory);
		expect(good).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('orders  3 events'), stderr: '' });
		expect(JSON.parse((await events('check', directory, '--json')).stdout)).toMatchObject({ damage: [] });
		expect(await events('check', place.directory)).toMatchObject({
			exitCode: 1,
			stderr: expect.stringContaining('there is no log in'),
		});
		const [name = ''] = (await readdir(directory)).filter((file) => file.endsWith('.log'));
		const bytes = await readFile(join(directory, name));
		bytes.write('X', bytes.indexOf('c-1'));
		await writeFile(join(directory, name), bytes);
		const bad = await events('check', directory, '--json');
		expect(JSON.parse(bad.stdout).damage).toHaveLength(1);
		expect(bad).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('the log is damaged') });
	});
});
