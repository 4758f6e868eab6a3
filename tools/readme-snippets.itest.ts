import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { chmod, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';

import { sidecarBin, spawnProcess, startSidecar, tempSocket } from '@spock/testkit';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '..');

interface Snippet {
	/** `docs/guide/consul.md:12`. */
	readonly place: string;
	readonly language: string;
	readonly code: string;
}

function snippetsOf(page: string, ...languages: readonly string[]): Snippet[] {
	const text = readFileSync(join(root, page), 'utf8');
	return [...text.matchAll(/^```(\w+)\n(.*?)^```/gms)]
		.map(({ 1: language = '', 2: code = '', index }) => {
			return { place: `${page}:${text.slice(0, index).split('\n').length}`, language, code };
		})
		.filter(({ language }) => languages.includes(language));
}

function pagesIn(folder: string): string[] {
	return readdirSync(join(root, folder))
		.filter((name) => name.endsWith('.md'))
		.map((name) => `${folder}/${name}`);
}

/** What each README prints. Those of pg, ioredis and grpc need a server: the tests of their examples have one. */
const PRINTED: Readonly<Record<string, RegExp>> = {
	'packages/protocol/README.md': /"func":"getService"[\s\S]*kind: 'reply'/,
	'packages/balancer/README.md': /^(web-1 web-2|web-2 web-1)\nweb-[12]\n$/,
	'packages/discovery/README.md': /^1 \d+ live\n/,
	'packages/client/README.md': /^127\.0\.0\.1 \d+ /,
	'packages/sidecar/README.md': /127\.0\.0\.1:\d+[\s\S]*\n0\n$/,
	'packages/undici/README.md': /^200 menu\n$/,
	'packages/http/README.md': /^200\n$/,
	'packages/fastify/README.md': /^\{ host: '127\.0\.0\.1', port: \d+ \}\n$/,
};

/** Snippets of the guide that need more than a sidecar, by a word of theirs; the test that has it. */
const ELSEWHERE: Readonly<Record<string, string>> = {
	makeFixture: 'examples/backend-http/contract.test.js',
	tlsTransport: 'packages/client/test/tls.itest.ts',
};

const guide = [...pagesIn('docs/guide'), ...pagesIn('docs/reference')];
const programs = guide
	.flatMap((page) => snippetsOf(page, 'js', 'ts'))
	.filter(({ code }) => !Object.keys(ELSEWHERE).some((word) => code.includes(word)));

/** What a snippet of the guide takes as given: the Diplomat of an earlier one, and the app's own things. */
const BEFORE = `{
	const { connect } = await import('@spock/client');
	globalThis.diplomat = await connect();
	globalThis.signal = AbortSignal.timeout(300);
	const { openEvents } = await import('@spock/client/events');
	globalThis.events = openEvents({ diplomat: globalThis.diplomat });
	globalThis.bill = async () => {};
	globalThis.rowsBehind = async () => [];
	globalThis.deleteUpTo = async () => {};
	globalThis.log = { info() {} };
	globalThis.histogram = () => ({ record() {} });
}
`;
const AFTER = '\nawait globalThis.diplomat.drain();\nprocess.exit();\n';

/** A module in a package that has what it imports among its dependencies. */
function runModule(code: string, socket: string) {
	const [, folder = 'benchmarks'] =
		[
			['@spock/client/otel', 'examples/otel'],
			['@spock/fastify', 'examples/fastify'],
		].find(([name = '']) => code.includes(name)) ?? [];
	const cwd = join(root, folder);
	return spawnProcess(process.execPath, ['--input-type=module', '-'], {
		cwd,
		input: code,
		env: { SPOCK_SOCKET: socket },
	});
}

describe('the snippets of the READMEs and the guide', () => {
	it('run as they stand in the READMEs, and with a Diplomat in the guide', async () => {
		const barista = createServer((_request, response) => response.end('menu')).listen(0, '127.0.0.1');
		await once(barista, 'listening');
		await using place = await tempSocket();
		const services = join(place.directory, 'services.json');
		const { port } = barista.address() as AddressInfo;
		const content = {
			services: { barista: [{ host: '127.0.0.1', port, tags: ['v2'] }] },
			keys: { 'app/limits': { max: 5 } },
		};
		await writeFile(services, JSON.stringify(content));
		await using _sidecar = await startSidecar(place.path, [
			...['--backend', 'local', '--services', services],
			...['--events', join(place.directory, 'events')],
		]);

		for (const [page, printed] of Object.entries(PRINTED)) {
			const [snippet] = snippetsOf(page, 'js');
			await using running = runModule(snippet?.code ?? '', place.path);
			const { exitCode, stdout, stderr } = await running.finished;
			expect([page, exitCode, stderr]).toEqual([page, 0, '']);
			expect(stdout, page).toMatch(printed);
		}
		expect(programs.length).toBeGreaterThan(8);
		for (const { place: name, code } of programs) {
			const { outputText } = ts.transpileModule(code, {
				compilerOptions: { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2023 },
			});
			await using running = runModule(`${BEFORE}${outputText}${AFTER}`, place.path);
			const { exitCode, stderr } = await running.finished;
			expect([name, exitCode, stderr]).toEqual([name, 0, '']);
		}
		barista.close();
		barista.closeAllConnections();
	});

	it('the first one of the README runs in the folder of the clone, as in the line above it', async () => {
		const barista = createServer((_request, response) => response.end('menu')).listen(0, '127.0.0.1');
		await once(barista, 'listening');
		await using place = await tempSocket();
		const services = join(place.directory, 'services.json');
		const { port } = barista.address() as AddressInfo;
		await writeFile(services, JSON.stringify({ services: { barista: [{ host: '127.0.0.1', port }] } }));
		await using _sidecar = await startSidecar(place.path, ['--backend', 'local', '--services', services]);
		const readme = readFileSync(join(root, 'README.md'), 'utf8');
		const [, file = '', command = ''] = /^Save this as `(\S+)` in the same folder, and run `(.*?)`/m.exec(readme) ?? [];
		const [snippet] = snippetsOf('README.md', 'js');
		await writeFile(join(root, file), snippet?.code ?? '');
		try {
			await using running = spawnProcess('sh', ['-c', command], { cwd: root, env: { SPOCK_SOCKET: place.path } });
			const expected = `barista is at 127.0.0.1:${port}\n200\n`;
			expect(await running.finished).toMatchObject({ exitCode: 0, stderr: '', stdout: expected });
		} finally {
			await rm(join(root, file));
		}
		barista.close();
		barista.closeAllConnections();
	});

	it('print in a terminal what the page shows, with the services of the page or of the examples', async () => {
		const pages = guide.filter((page) => snippetsOf(page, 'console').length > 0);
		expect(pages.length).toBeGreaterThan(0);
		for (const page of pages) {
			await using place = await tempSocket();
			const [yaml] = snippetsOf(page, 'yaml');
			const services = yaml ? join(place.directory, 'services.yaml') : join(root, 'examples/services.json');
			if (yaml) await writeFile(services, yaml.code);
			await using _sidecar = await startSidecar(place.path, ['--backend', 'local', '--services', services]);
			for (const { place: name, code } of snippetsOf(page, 'console')) {
				const commands = [...code.matchAll(/^\$ (.*)$/gm)].map(([, command = '']) => command);
				const expected = code.replaceAll(/^\$ .*\n/gm, '');
				const env = await shellWith(place.directory, { SPOCK_SOCKET: place.path });
				let shown = '';
				for (const command of commands) {
					await using running = spawnProcess('bash', ['-ec', command], { env });
					const { exitCode, stdout } = await running.finished;
					expect([name, command, exitCode]).toEqual([name, command, 0]);
					// A terminal gets a value with a line end, and a pipe without.
					shown += stdout === '' || stdout.endsWith('\n') ? stdout : `${stdout}\n`;
				}
				expect([name, shown]).toEqual([name, expected]);
			}
		}
	});

	it('start a sidecar with settings that it knows', async () => {
		await using place = await tempSocket();
		const starts = [...guide, 'packages/sidecar/README.md'].flatMap((page) => snippetsOf(page, 'sh')).flatMap(startsOf);
		expect(starts.length).toBeGreaterThan(5);
		const env = await shellWith(place.directory, {});
		for (const { place: name, code } of starts) {
			await using running = spawnProcess('bash', ['-ec', `${code} --print-config`], { env, cwd: place.directory });
			const { exitCode, stderr } = await running.finished;
			expect([name, code, exitCode, stderr]).toEqual([name, code, 0, '']);
		}
	});

	it('are services files that a sidecar accepts', async () => {
		const files = guide.flatMap((page) => snippetsOf(page, 'yaml')).filter(({ code }) => code.startsWith('services:'));
		expect(files.length).toBeGreaterThan(1);
		for (const { code } of files) {
			await using place = await tempSocket();
			const path = join(place.directory, 'services.yaml');
			await writeFile(path, code);
			await using _sidecar = await startSidecar(place.path, ['--backend', 'local', '--services', path]);
		}
	});
});

/** The commands of a snippet that start a sidecar, each on one line and without its comment. */
function startsOf({ place, code }: Snippet): { readonly place: string; readonly code: string }[] {
	return code
		.replaceAll(/\\\n\s*/g, '')
		.split('\n')
		.map((line) => line.replace(/\s+#.*$/, ''))
		.filter((line) => /(^|[\s/])sidecar start\b/.test(line))
		.map((line) => ({ place, code: line }));
}

/** Variables of a shell that knows the command `sidecar`, and npx as what runs it. */
async function shellWith(directory: string, env: Readonly<Record<string, string>>): Promise<Record<string, string>> {
	const node = process.execPath;
	for (const [name, line] of [
		['sidecar', `exec "${node}" "${sidecarBin}" "$@"`],
		// `npx --no-install sidecar …`, and `npx @spock/sidecar …`.
		['npx', 'shift; [ "$1" = sidecar ] || set -- sidecar "$@"; exec "$@"'],
	]) {
		const path = join(directory, name ?? '');
		await writeFile(path, `#!/bin/sh\n${line}\n`);
		await chmod(path, 0o755);
	}
	return { ...env, PATH: `${directory}:${dirname(node)}:${process.env['PATH']}` };
}
