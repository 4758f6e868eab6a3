import { execFileSync } from 'node:child_process';
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { FakeClock, tempSocket, waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { BackendSource } from '../../backend-source.ts';
import type { DiscoveryEvent } from '../../foundation/discovery-event.ts';
import { createLocalBackend, type LocalBackend, type LocalBackendOptions } from './local-backend.ts';

const at = (host: string) => JSON.stringify({ services: { barista: [{ host, port: 8765 }] } });

async function open(file: string, options: LocalBackendOptions = {}) {
	const events: DiscoveryEvent[] = [];
	const backend = await createLocalBackend({ file, onEvent: (event) => events.push(event), ...options });
	const hosts: (string | undefined)[] = [];
	const watch = backend.watch(
		{ service: 'barista' },
		{ answered: ([first]) => hosts.push(first?.host), failed: () => undefined },
	);
	const types = () => events.map(({ type }) => type);
	return { backend, events, types, hosts, watch, [Symbol.asyncDispose]: () => backend.close() };
}

function replace(file: string, text: string): void {
	writeFileSync(`${file}.new`, text);
	renameSync(`${file}.new`, file);
}

describe('the embedded registry over a file', () => {
	it('rejects at the start what is no services file, by file and line, and what is not there', async () => {
		await using place = await tempSocket();
		const file = join(place.directory, 'services.yaml');
		await expect(createLocalBackend({ file })).rejects.toThrow(`the services file ${file} does not exist`);
		writeFileSync(file, 'services:\n  a: 7');
		await expect(createLocalBackend({ file })).rejects.toThrow(`${file}:2:6: services.a must be a list of instances`);
	});

	it('that is a FIFO nobody writes is refused at once, and so is one that takes its place', async () => {
		await using place = await tempSocket();
		const file = join(place.directory, 'services.json');
		execFileSync('mkfifo', [file]);
		await expect(createLocalBackend({ file })).rejects.toThrow(`cannot read ${file}: it is not a regular file`);
		rmSync(file);
		writeFileSync(file, at('10.0.0.1'));
		await using local = await open(file);
		execFileSync('mkfifo', [`${file}.new`]);
		renameSync(`${file}.new`, file);
		await waitFor('the refusal', () => local.backend.status().state === 'down');
		expect(local.backend.status().error).toContain('it is not a regular file');
		replace(file, at('10.0.0.2'));
		await waitFor('the next edit', () => local.hosts.at(-1) === '10.0.0.2');
		expect(local.types()).toEqual(['services-file-loaded', 'services-file-refused', 'services-file-loaded']);
	});

	it.each([
		['written in place', (file: string, text: string) => writeFileSync(file, text)],
		['renamed into place', replace],
	])('an edit that is %s is served within a second', async (_how, edit) => {
		await using place = await tempSocket();
		const file = join(place.directory, 'services.json');
		writeFileSync(file, at('10.0.0.1'));
		await using local = await open(file);
		for (const host of ['10.0.0.2', '10.0.0.3']) {
			const startedMs = performance.now();
			edit(file, at(host));
			await waitFor('the edit', () => local.hosts.at(-1) === host);
			// Far under the second on an idle machine; the bound leaves room for a busy one.
			expect(performance.now() - startedMs).toBeLessThan(5000);
		}
		expect(local.hosts).toEqual(['10.0.0.1', '10.0.0.2', '10.0.0.3']);
	});

	it('the links of a config map that are turned round are seen', async () => {
		await using place = await tempSocket();
		const version = (name: string, host: string): void => {
			mkdirSync(join(place.directory, name));
			writeFileSync(join(place.directory, name, 'services.json'), at(host));
		};
		version('..2026_1', '10.0.0.1');
		symlinkSync('..2026_1', join(place.directory, '..data'));
		symlinkSync('..data/services.json', join(place.directory, 'services.json'));
		await using local = await open(join(place.directory, 'services.json'));
		version('..2026_2', '10.0.0.2');
		symlinkSync('..2026_2', join(place.directory, '..data_tmp'));
		renameSync(join(place.directory, '..data_tmp'), join(place.directory, '..data'));
		await waitFor('the new version', () => local.hosts.at(-1) === '10.0.0.2');
	});

	it('a bad edit changes nothing and is told once for each bad content; a good one heals it', async () => {
		await using place = await tempSocket();
		const file = join(place.directory, 'services.json');
		writeFileSync(file, at('10.0.0.1'));
		await using local = await open(file);
		const refused = () => local.events.filter(({ type }) => type === 'services-file-refused');
		replace(file, 'services: 7');
		await waitFor('the first complaint', () => refused().length === 1);
		expect(refused()[0]).toMatchObject({ file, error: { line: 1, message: expect.stringContaining(`${file}:1:`) } });
		expect(local.backend.status()).toMatchObject({ state: 'down', error: expect.stringContaining('services') });
		replace(file, 'services: 7');
		await local.backend.reload();
		expect(refused()).toHaveLength(1);
		replace(file, 'services: 8');
		await waitFor('the second complaint', () => refused().length === 2);
		expect(local.hosts).toEqual(['10.0.0.1']);
		replace(file, at('10.0.0.2'));
		await waitFor('the good edit', () => local.hosts.at(-1) === '10.0.0.2');
		expect(local.backend.status()).toMatchObject({ state: 'up', error: null });
	});

	it('a bad edit that is taken back is told as loaded, and changes nothing for readers', async () => {
		await using place = await tempSocket();
		const file = join(place.directory, 'services.json');
		writeFileSync(file, at('10.0.0.1'));
		await using local = await open(file);
		replace(file, 'services: 7');
		await waitFor('the complaint', () => local.types().at(-1) === 'services-file-refused');
		replace(file, at('10.0.0.1'));
		await waitFor('the good news', () => local.types().at(-1) === 'services-file-loaded');
		expect(local.hosts).toEqual(['10.0.0.1']);
	});

	it('a file that is deleted keeps being served, is told once, and is read again when it is back', async () => {
		await using place = await tempSocket();
		const file = join(place.directory, 'services.json');
		writeFileSync(file, at('10.0.0.1'));
		await using local = await open(file);
		rmSync(file);
		await waitFor('the complaint', () => local.types().at(-1) === 'services-file-refused');
		await local.backend.reload();
		await local.backend.reload();
		expect(local.types()).toEqual(['services-file-loaded', 'services-file-refused']);
		expect(local.hosts).toEqual(['10.0.0.1']);
		writeFileSync(file, at('10.0.0.2'));
		await waitFor('the file', () => local.hosts.at(-1) === '10.0.0.2');
	});

	it('polling alone sees a change too', async () => {
		const clock = new FakeClock();
		await using place = await tempSocket();
		const file = join(place.directory, 'elsewhere', 'services.json');
		mkdirSync(join(place.directory, 'elsewhere'));
		writeFileSync(file, at('10.0.0.1'));
		// Through a link of another directory nothing is heard.
		const link = join(place.directory, 'link.json');
		symlinkSync(file, link);
		await using local = await open(link, { clock, pollMs: 500 });
		replace(file, at('10.0.0.2'));
		await waitFor('the poll', async () => {
			await clock.advance(500);
			return local.hosts.at(-1) === '10.0.0.2';
		});
	});

	it('closed, it leaves no timer and tells nothing more', async () => {
		const clock = new FakeClock();
		await using place = await tempSocket();
		const file = join(place.directory, 'services.json');
		writeFileSync(file, at('10.0.0.1'));
		const local = await open(file, { clock });
		await Promise.all([local.backend.close(), local.backend.close()]);
		expect(clock.pendingTimers).toBe(0);
		replace(file, at('10.0.0.2'));
		await local.backend.reload();
		expect(local.hosts).toEqual(['10.0.0.1']);
		await expect(local.backend.list({})).rejects.toMatchObject({ code: 'CLOSED' });
	});
});

describe('a services file', () => {
	it('that is written again with the same content is no news', async () => {
		await using place = await tempSocket();
		const file = join(place.directory, 'services.json');
		writeFileSync(file, at('10.0.0.1'));
		await using local = await open(file, { clock: new FakeClock() });
		replace(file, at('10.0.0.1'));
		await local.backend.reload();
		expect([local.hosts, local.types()]).toEqual([['10.0.0.1'], ['services-file-loaded']]);
		expect(local.backend.status()).toMatchObject({ state: 'up', addresses: [file] });
	});

	it('at a place that cannot be looked at says why', async () => {
		await using place = await tempSocket();
		const file = join(place.directory, 'services.json');
		writeFileSync(file, '');
		await expect(createLocalBackend({ file: join(file, 'below') })).rejects.toThrow(/cannot read .*: ENOTDIR/);
	});
});

describe('the embedded registry over given services', () => {
	const services = {
		barista: [
			{ host: 'h1', port: 1, tags: ['v1', 'x'], datacenter: 'dc1' },
			{ host: 'h2', port: 2, tags: ['v1'], datacenter: 'dc2' },
		],
		waiter: [],
	};
	const ports = async (local: LocalBackend, query: { tags?: string[]; datacenter?: string }): Promise<number[]> => {
		const source = new BackendSource({ backend: local });
		return (await source.get({ service: 'barista', ...query })).instances.map(({ port }) => port);
	};

	it('answers by tags and datacenter', async () => {
		const local = await createLocalBackend({ services });
		expect(await ports(local, {})).toEqual([1, 2]);
		expect(await ports(local, { tags: ['v1', 'x'] })).toEqual([1]);
		expect(await ports(local, { datacenter: 'dc2' })).toEqual([2]);
		expect(await ports(local, { tags: ['x'], datacenter: 'dc2' })).toEqual([]);
		expect(await local.list({})).toEqual([
			{ name: 'barista', tags: ['v1', 'x'] },
			{ name: 'waiter', tags: [] },
		]);
		expect(await local.list({ datacenter: 'dc2' })).toEqual([{ name: 'barista', tags: ['v1'] }]);
		await local.close();
	});

	it('an unknown service is an empty live snapshot', async () => {
		const source = new BackendSource({ backend: await createLocalBackend({ services }) });
		expect(await source.get({ service: 'nobody' })).toMatchObject({ instances: [], source: 'live', ageMs: 0 });
		await source.close();
	});

	it('a file and services at once are refused, and so is a wrong service', async () => {
		await expect(createLocalBackend({ services, file: 'x' })).rejects.toThrow(TypeError);
		await expect(createLocalBackend({ services: { a: [{ host: '', port: 1 }] } })).rejects.toThrow(
			/services\.a\[0\]\.host/,
		);
	});

	it('has no peers and therefore nothing from any, and says where it looks', async () => {
		const local = await createLocalBackend({ services, keys: { 'app/limits': 5 } });
		const source = new BackendSource({ backend: local });
		expect((await source.get({ service: 'barista', peer: 'east' })).instances).toEqual([]);
		expect(local.status()).toMatchObject({ state: 'up', addresses: [], error: null, lastSuccessAgeMs: 0 });
		expect(await source.keys?.get({ key: 'app/limits' })).toMatchObject({ value: '5' });
		await source.close();
	});

	it('ever new questions about a service fill no memory, and are all answered', async () => {
		const local = await createLocalBackend({ services });
		let answers = 0;
		for (let number = 0; number < 10_100; number++) {
			const query = { service: 'barista', tags: [number % 2 === 0 ? 'v1' : 'none', `t${number}`] };
			local.watch(query, { answered: () => answers++, failed: () => undefined }).stop();
		}
		expect(answers).toBe(10_100);
		await local.close();
	});
});
