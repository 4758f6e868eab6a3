import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { readRecording } from '@spock/discovery';
import type { ServiceSnapshot } from '@spock/protocol';
import {
	type ProcessResult,
	type RunningProcess,
	runSidecar,
	startSidecar,
	type TempSocket,
	tempSocket,
	waitFor,
} from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { replayed, seen } from './recorded.ts';

interface Site extends AsyncDisposable {
	readonly place: TempSocket;
	readonly record: string;
	readonly services: string;
	write(services: Readonly<Record<string, readonly number[]>>): void;
	start(): Promise<RunningProcess>;
	/** Starts to record and waits until it has begun. */
	recorder(...args: string[]): Promise<RunningProcess>;
	types(): string[];
}

async function site(): Promise<Site> {
	const place = await tempSocket();
	const record = join(place.directory, 'record.ndjson');
	const services = join(place.directory, 'services.json');
	const write: Site['write'] = (content) => {
		const lists = Object.entries(content).map(([name, ports]) => {
			return [name, ports.map((port) => ({ host: '10.0.0.1', port, tags: ['v1'], meta: { rack: 'b7' } }))] as const;
		});
		writeFileSync(services, JSON.stringify({ services: Object.fromEntries(lists) }));
	};
	return {
		place,
		record,
		services,
		write,
		start: () => startSidecar(place.path, ['--backend', 'local', '--services', services]),
		recorder: async (...args) => {
			const recorder = runSidecar(['record', record, '--socket', place.path, ...args]);
			await waitFor('the recorder', () => recorder.stdout().includes('recording into'));
			return recorder;
		},
		types: () => typesIn(record),
		[Symbol.asyncDispose]: () => place[Symbol.asyncDispose](),
	};
}

/** The types of the lines of a record, of snapshots the service. */
function typesIn(file: string): string[] {
	const [, ...lines] = readFileSync(file, 'utf8').trimEnd().split('\n');
	return lines.map((line) => {
		const { type, service, instances } = JSON.parse(line);
		return type === 'snapshot' ? `${service} ${instances.length}` : type;
	});
}

async function command(place: TempSocket, ...args: string[]): Promise<ProcessResult> {
	await using run = runSidecar([...args, '--socket', place.path]);
	return await run.finished;
}

describe('sidecar record', () => {
	it('writes every change of every service, and a replay tells readers the same', async () => {
		await using here = await site();
		here.write({ barista: [80], till: [90] });
		await using _sidecar = await here.start();
		await using watching = runSidecar(['watch', 'barista', '--json', '--socket', here.place.path]);
		await waitFor('the first line', () => watching.stdout() !== '');
		await using recorder = await here.recorder();
		const changes = [[80, 81], [81], [], [82]];
		for (const [index, ports] of changes.entries()) {
			here.write({ barista: ports, till: [90], ...(index > 0 && { cellar: [70] }) });
			await waitFor('the change', () => here.types().filter((type) => type.startsWith('barista')).length === index + 2);
		}
		await waitFor('the service that is new', () => here.types().includes('cellar 1'));
		expect(await recorder.stop('SIGINT')).toMatchObject({
			exitCode: 0,
			stdout: expect.stringMatching(/recorded \d+ lines, \d+ bytes/),
		});
		const types = here.types();
		expect(types.slice(0, 3).sort()).toEqual(['barista 1', 'begun', 'till 1']);
		expect(types.at(-1)).toBe('end');
		await waitFor('all lines', () => watching.stdout().trimEnd().split('\n').length === 5);
		const lines = watching.stdout().trimEnd().split('\n');
		const told = lines.map((line) => seen(JSON.parse(line) as ServiceSnapshot));
		expect(await replayed(here.record, 'barista')).toEqual(told);
		expect((await replayed(here.record, 'cellar')).at(-1)).toContain('"port":70');
		// It says where everything is, and nothing that lets anybody in; it is for this user alone.
		expect(statSync(here.record).mode & 0o777).toBe(0o600);
	});

	it('goes on over a restart of the sidecar, and marks what it has not seen', async () => {
		await using here = await site();
		here.write({ barista: [80] });
		await using first = await here.start();
		await using recorder = await here.recorder('--service', 'barista');
		await first.stop('SIGKILL');
		rmSync(here.place.path);
		await waitFor('the gap', () => here.types().includes('gap'));
		here.write({ barista: [81] });
		await using _second = await here.start();
		await waitFor('the news', () => here.types().length === 5);
		await recorder.stop('SIGTERM');
		expect(here.types()).toEqual(['barista 1', 'begun', 'gap', 'back', 'barista 1', 'end']);
		expect((await replayed(here.record, 'barista')).map((told) => /"port":(\d+)/.exec(told)?.[1])).toEqual([
			'80',
			'81',
		]);
		const { header } = await readRecording(here.record);
		expect(header).toMatchObject({ record: 'spock', version: 1, services: ['barista'] });
	});

	it('leaves no file where nothing can be recorded', async () => {
		await using at = await site();
		await using _sidecar = await startSidecar(at.place.path, ['--backend', 'dns', '--dns-server', '127.0.0.1:9']);
		await using recorder = runSidecar(['record', at.record, '--socket', at.place.path]);
		expect(await recorder.finished).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('list services') });
		expect(existsSync(at.record)).toBe(false);
	});

	it('ends when the file is full, writes none over, and leaves none where no sidecar is', async () => {
		await using here = await site();
		here.write({ barista: [80] });
		expect(await command(here.place, 'record', here.record)).toMatchObject({ exitCode: 3 });
		await using _sidecar = await here.start();
		await using recorder = await here.recorder('--max-bytes', '4096');
		here.write({ barista: Array.from({ length: 40 }, (_, index) => index + 1) });
		const full = { exitCode: 1, stderr: expect.stringContaining('is full: 4096 bytes') };
		expect(await recorder.finished).toMatchObject(full);
		expect(here.types().at(-1)).toBe('end');
		expect(statSync(here.record).size).toBeLessThanOrEqual(4096);
		expect(await command(here.place, 'record', here.record)).toMatchObject({
			exitCode: 2,
			stderr: expect.stringContaining('it already exists'),
		});
		expect(await command(here.place, 'record', `${here.record}2`, '--max-bytes', '1')).toMatchObject({ exitCode: 2 });
	});
});

describe('sidecar start --backend replay', () => {
	it('serves what a record says, at any speed', async () => {
		await using here = await site();
		here.write({ barista: [80] });
		{
			await using _sidecar = await here.start();
			await using recorder = await here.recorder();
			here.write({ barista: [80, 81], till: [90] });
			await waitFor('the change', () => here.types().includes('barista 2') && here.types().includes('till 1'));
			await recorder.stop('SIGINT');
		}
		rmSync(here.place.path, { force: true });
		const args = ['--backend', 'replay', '--record', here.record, '--replay-speed', 'max'];
		await using _replay = await startSidecar(here.place.path, args);
		expect(await command(here.place, 'list')).toMatchObject({ stdout: 'SERVICE  TAGS\nbarista  v1\ntill     v1\n' });
		expect(await command(here.place, 'get', 'till')).toMatchObject({ stdout: '10.0.0.1:90\n' });
		expect((await command(here.place, 'status')).stdout).toContain('replay up');
	});

	it('says what is wrong with the record or the flags, and 2', async () => {
		await using here = await site();
		writeFileSync(here.record, '{"record":"spock","version":1}\n{"type":"snapshot"}\n');
		const start = (...args: string[]) => command(here.place, 'start', '--backend', 'replay', ...args);
		const refused = async (message: string, ...args: string[]): Promise<void> => {
			expect(await start(...args)).toMatchObject({ exitCode: 2, stdout: expect.stringContaining(message) });
		};
		await refused('needs a recording: --record FILE');
		await refused(`${here.record}:2: t must be a number`, '--record', here.record);
		writeFileSync(here.record, '{"record":"spock","version":1}\n');
		await refused('--replay-speed must be a factor', '--record', here.record, '--replay-speed', 'fast');
		await refused(
			'loop cannot be combined with speed 0',
			'--record',
			here.record,
			'--replay-speed',
			'max',
			'--replay-loop',
		);
	});
});
