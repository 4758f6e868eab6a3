import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import {
	type ProcessResult,
	type RunningProcess,
	spawnProcess,
	startSidecar,
	type TempSocket,
	tempSocket,
} from '@spock/testkit';
import { afterAll, beforeAll, expect, it } from 'vitest';

const root = join(import.meta.dirname, '..');

let place: TempSocket;
let barista: Server;
let sidecar: RunningProcess;
/** A folder that was empty, outside of the repository, in which the packages are installed as `npm run pack` prints it. */
let app: string;
let printed: string;

async function run(command: string, args: readonly string[], cwd: string): Promise<ProcessResult> {
	await using running = spawnProcess(command, args, { cwd, env: { SPOCK_SOCKET: place.path } });
	return await running.finished;
}

beforeAll(async () => {
	place = await tempSocket();
	barista = createServer((_request, response) => response.end('menu'));
	await new Promise<void>((resolve) => barista.listen(0, '127.0.0.1', resolve));
	const services = join(place.directory, 'services.json');
	const { port } = barista.address() as AddressInfo;
	writeFileSync(services, JSON.stringify({ services: { barista: [{ host: '127.0.0.1', port }] } }));
	sidecar = await startSidecar(place.path, ['--backend', 'local', '--services', services]);

	app = mkdtempSync(join(tmpdir(), 'spock-app-'));
	const folder = join(app, 'my packages');
	// Those that need nothing of the registry. What publint and the others find in the archives: `npm run check packages`.
	const options = ['--out', folder, '--unchecked', 'undici', 'http'];
	const packed = await run(process.execPath, [join(root, 'tools/pack.js'), ...options], app);
	expect(packed).toMatchObject({ exitCode: 0, stderr: '' });
	printed = packed.stdout;
	const install = /^ {2}(npm install .*)$/m.exec(printed)?.[1] ?? '';
	const offline = `${install} --offline --no-audit --no-fund`;
	expect(await run('sh', ['-c', offline], app)).toMatchObject({ exitCode: 0 });
}, 300_000);

afterAll(async () => {
	await sidecar?.[Symbol.asyncDispose]();
	barista?.close().closeAllConnections();
	await place?.[Symbol.asyncDispose]();
	if (app !== undefined) rmSync(app, { recursive: true, force: true });
});

/** The snippets of the page about the first app, but for those that other tests run. */
function snippet(word: string): string {
	const page = readFileSync(join(root, 'docs/guide/first-app.md'), 'utf8');
	const all = [...page.matchAll(/^```js\n(.*?)^```/gms)].map(([, code = '']) => code);
	return all.find((code) => code.includes(word)) ?? '';
}

/** The same as CommonJS, where `await` needs a function around it. */
function asCommonJs(code: string): string {
	const required = code.replaceAll(/^import (\{.*\}) from (.*);$/gm, 'const $1 = require($2);');
	return `(async () => {\n${required}\n})();`;
}

it('what it packs is installed in an empty folder, and the first app runs there, as ES modules and as CommonJS', async () => {
	const first = snippet('await diplomat.drain()');
	const call = `import { connect } from '@spock/client';\nconst diplomat = await connect();\n${snippet('createFetch')}
console.log(await menu.text());\nawait fetch.close();\nawait diplomat.drain();\n`;
	for (const [code, expected] of [
		[first, /host: '127\.0\.0\.1'/],
		[call, /^menu$/m],
	] as const) {
		writeFileSync(join(app, 'app.mjs'), code);
		writeFileSync(join(app, 'app.cjs'), asCommonJs(code));
		for (const file of ['app.mjs', 'app.cjs']) {
			const result = await run(process.execPath, [file], app);
			expect([file, result]).toMatchObject([
				file,
				{ exitCode: 0, stderr: '', stdout: expect.stringMatching(expected) },
			]);
		}
	}
});

it('where an error points, and every link of a README, opens there', async () => {
	const code = `import { connect } from '@spock/client';
const diplomat = await connect();
const error = await diplomat.getService('nobody').catch((error) => error);
console.log(error.details.help);
await diplomat.drain();`;
	writeFileSync(join(app, 'help.mjs'), code);
	const { stdout } = await run(process.execPath, ['help.mjs'], app);
	const [file = '', anchor = ''] = stdout.trim().split('#');
	expect(readFileSync(join(app, file), 'utf8').toLowerCase()).toContain(`### ${anchor}`);

	const modules = join(app, 'node_modules/@spock');
	const pages = [
		...readdirSync(modules).map((name) => join(modules, name, 'README.md')),
		...readdirSync(join(modules, 'client/docs'), { recursive: true, encoding: 'utf8' })
			.filter((name) => name.endsWith('.md'))
			.map((name) => join(modules, 'client/docs', name)),
	];
	expect(pages.length).toBeGreaterThan(20);
	const broken = pages.flatMap((page) =>
		[...readFileSync(page, 'utf8').matchAll(/\]\(([^)#\s]+)[^)]*\)/g)]
			.map(([, link = '']) => link)
			.filter((link) => !/^https?:/.test(link) && !existsSync(join(dirname(page), link)))
			.map((link) => `${page}: ${link}`),
	);
	expect(broken).toEqual([]);
});

it('names what it can pack where it is asked for another one', async () => {
	mkdirSync(join(app, 'none'));
	const { exitCode, stderr } = await run(process.execPath, [join(root, 'tools/pack.js'), 'clinet'], join(app, 'none'));
	expect([exitCode, stderr]).toEqual([
		2,
		expect.stringMatching(/^unknown package "clinet"; expected some of: .*client/),
	]);
});
