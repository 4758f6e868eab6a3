import { existsSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { type RunningProcess, spawnProcess, type TempSocket, tempSocket, waitFor } from '@spock/testkit';
import { expect, it } from 'vitest';

const root = join(import.meta.dirname, '..');

/** `npm start`, less npm itself, with what it keeps in a directory of its own. */
function start({ directory, path }: TempSocket): RunningProcess {
	return spawnProcess(process.execPath, [join(root, 'tools/start.js'), ...flags(directory)], {
		env: { SPOCK_SOCKET: path },
	});
}

/** `npm start` with npm, whose words are left out. */
function npmStart({ directory, path }: TempSocket): RunningProcess {
	return spawnProcess('npm', ['--silent', 'start', '--', '--socket', path, ...flags(directory)], { cwd: root });
}

function flags(directory: string): string[] {
	return ['--events', join(directory, 'events')];
}

/** What it prints once every barista can be found. */
function printed(running: RunningProcess): Promise<string> {
	const all = () => running.stdout();
	return waitFor('the end of its text', () => all().includes('Ctrl-C ends everything.') && all(), 60_000);
}

/** The processes that it has started, and that those have, by what Linux knows; elsewhere none. */
async function childrenOf(pid: number): Promise<readonly number[]> {
	if (process.platform !== 'linux') return [];
	const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8');
	const own = text.split(' ').filter(Boolean).map(Number);
	return [...own, ...(await Promise.all(own.map(childrenOf))).flat()];
}

function isAlive(pid: number): boolean {
	try {
		process.kill(pid, 0);
		return true;
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
		throw error;
	}
}

async function run(line: string, place?: TempSocket) {
	const env = place === undefined ? {} : { SPOCK_SOCKET: place.path };
	await using running = spawnProcess('bash', ['-ec', line], { cwd: root, env });
	return await running.finished;
}

/** Names, ports and the order of the baristas are as it happens. */
function withoutChance(text: string): string {
	return text.replaceAll(/barista-[123]/g, 'barista-N').replaceAll(/"port":\d+/g, '"port":0');
}

it('starts three baristas and a status page, every command that it or the README shows works, and Ctrl-C ends all', async () => {
	await using place = await tempSocket();
	await using running = start(place);
	const text = await printed(running);
	// Also on another version of Node: other tests run what it would build.
	expect(text).not.toContain('building');
	const menus = [...text.matchAll(/^barista-\d serves (\S+)$/gm)].map(([, url = '']) => url);
	expect(menus).toHaveLength(3);
	for (const url of [...menus, /http:\/\/127\.0\.0\.1:\d+\/(?= {3}the status page)/.exec(text)?.[0] ?? '']) {
		expect([url, (await fetch(url)).status]).toEqual([url, 200]);
	}
	// One set of hints, at its end, and no log line above or below.
	expect(text.trimEnd()).toMatch(/Ctrl-C ends everything\.$/);
	expect(text).not.toMatch(/try it|"level"/);
	const commands = [...text.matchAll(/^ {2}((?:npx|node|SPOCK_SOCKET=\S+ node) .*)$/gm)].map(([, line = '']) => line);
	expect(commands.length).toBeGreaterThan(3);
	for (const line of commands) {
		const { exitCode, stdout, stderr } = await run(line);
		// npm may warn there of the machine's own configuration.
		expect([line, exitCode, stderr]).toEqual([line, 0, expect.stringMatching(/^(npm warn .*\n)*$/)]);
		expect(stdout).toMatch(line.includes('menu.js') ? /^(200 \{.*\}\n){3}$/ : /\S/);
	}
	const readme = readFileSync(join(root, 'README.md'), 'utf8');
	const [, shown = ''] = /^```console\n(.*?)^```/ms.exec(readme) ?? [];
	const lines = [...shown.matchAll(/^\$ (.*)$/gm)].map(([, line = '']) => line);
	let answers = '';
	for (const line of lines) {
		const { stdout } = await run(line, place);
		// A terminal gets a value with a line end, and a pipe without.
		answers += stdout.endsWith('\n') ? stdout : `${stdout}\n`;
	}
	expect(withoutChance(answers)).toBe(withoutChance(shown.replaceAll(/^\$ .*\n/gm, '')));

	const children = await childrenOf(running.pid);
	expect(await running.stop('SIGINT')).toMatchObject({ exitCode: 0 });
	await waitFor('the end of the baristas', () => !children.some(isAlive), 20_000);
}, 180_000);

it('an order at the examples of Express, Fastify and NestJS is made by one of the baristas', async () => {
	await using place = await tempSocket();
	await using running = start(place);
	await printed(running);
	const build =
		'node node_modules/pnpm/bin/pnpm.cjs --filter @spock/example-fastify --filter @spock/example-nestjs run build';
	expect(await run(build, place)).toMatchObject({ exitCode: 0 });
	for (const main of ['express/main.js', 'fastify/dist/main.js', 'nestjs/dist/main.js']) {
		const env = { SPOCK_SOCKET: place.path, PORT: '0' };
		await using app = spawnProcess(process.execPath, [join(root, 'examples', main)], { env });
		const url = await waitFor('its address', () => /listen\S* at (http:\/\/[\d.:]+)/.exec(app.stdout())?.[1]);
		const response = await fetch(`${url}/order/cortado`);
		const made = expect.stringMatching(/^cortado, made by barista-[123]$/);
		expect([main, response.status, await response.json()]).toEqual([main, 200, { drink: 'cortado', made }]);
		// Nest ends itself by the signal once its hooks have run.
		const end = main.startsWith('nestjs') ? { exitCode: null, signal: 'SIGTERM' } : { exitCode: 0 };
		expect(await app.stop('SIGTERM')).toMatchObject(end);
	}
}, 180_000);

it('a second one beside it says so, ends, and leaves nothing behind', async () => {
	await using place = await tempSocket();
	await using running = start(place);
	await printed(running);
	await using second = start(place);
	const { exitCode, stdout, stderr } = await second.finished;
	expect([exitCode, stdout]).toEqual([1, '']);
	expect(stderr).toContain(`a sidecar runs already at ${place.path}`);
	const command = 'node packages/sidecar/bin/sidecar.js get barista';
	expect(await run(command, place)).toMatchObject({ exitCode: 0 });
}, 180_000);

it('leaves no barista behind when it is killed', async () => {
	await using place = await tempSocket();
	await using running = start(place);
	await printed(running);
	const children = await childrenOf(running.pid);
	await running.stop('SIGKILL');
	await waitFor('the end of the baristas', () => !children.some(isAlive), 20_000);
}, 180_000);

it.each(['SIGTERM', 'SIGHUP', 'SIGKILL'] as const)(
	'ends with all that it has started when npm gets %s',
	async (signal) => {
		await using place = await tempSocket();
		await using running = npmStart(place);
		await printed(running);
		const all = await childrenOf(running.pid);
		expect(all.length).toBeGreaterThan(process.platform === 'linux' ? 3 : -1);
		await running.stop(signal);
		await waitFor('the end of all', () => !all.some(isAlive), 20_000);
	},
	180_000,
);

it('ends with all that it has started when its terminal is closed', async () => {
	await using place = await tempSocket();
	await using running = start(place);
	await printed(running);
	const children = await childrenOf(running.pid);
	// In order: its socket is removed.
	expect(await running.stop('SIGHUP')).toMatchObject({ exitCode: 0 });
	expect(existsSync(place.path)).toBe(false);
	await waitFor('the end of the baristas', () => !children.some(isAlive), 20_000);
}, 180_000);
