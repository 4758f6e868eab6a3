// What a publisher checks before a release: each package is packed as it would be published; publint and are-the-types-wrong
// look at the archive; then all archives are installed into an app outside of the workspace (tools/consumer), which is
// compiled in each way that TypeScript finds packages. Node, Bun and Deno run it beside a real sidecar. Test runners, bundlers and
// tracers: `npm run suite surroundings`.
import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { packPackages } from './pack-packages.js';
import { installPacked } from './packed-app.js';
import { ensureBuilt, ensureInstalled, fail, root, run, say } from './prepare.js';

// The oldest that can read the declarations, and the newest.
const TYPESCRIPTS = { 'typescript-5.4': 'npm:typescript@5.4.5', 'typescript-6': 'npm:typescript@6.0.3' };
const LIBRARIES = {
	'@grpc/grpc-js': '1.14.7',
	// Not the newest one: that is for ESM alone, and these tests are CommonJS.
	'@nestjs/common': '11.2.10',
	'@nestjs/core': '11.2.10',
	'@opentelemetry/api': '1.9.1',
	'@types/node': '20.19.43',
	'@types/pg': '8.23.1',
	fastify: '5.12.8',
	ioredis: '6.0.0',
	pg: '8.23.1',
	'reflect-metadata': '0.2.2',
	rxjs: '7.8.2',
	undici: '7.30.2',
};
const isLinuxX64 =
	process.platform === 'linux' && process.arch === 'x64' && process.report.getReport().header.glibcVersionRuntime;
/** The programs themselves: the packages `bun` and `deno` copy them when they are installed. Some 100 MB each, which npm caches. */
const RUNTIMES = isLinuxX64 ? { '@oven/bun-linux-x64': '1.4.5', '@deno/linux-x64-glibc': '2.9.6' } : {};
const PERMISSIONS = ['net', 'env', 'sys', 'read', 'write'].map((one) => `--allow-${one}`);
/** How each runs a program, and what of tools/consumer/runtime.mjs does not work there: the page about the client says so. */
const RUNS = [
	['Node', [process.execPath], []],
	['Bun', ['./node_modules/@oven/bun-linux-x64/bin/bun', 'run'], ['createDispatcher with undici of npm']],
	['Deno', ['./node_modules/@deno/linux-x64-glibc/deno', 'run', '--no-prompt', ...PERMISSIONS], []],
];
/** Each of its steps ends within 5 s. */
const RUN_MS_MAX = 120_000;
/** How an app in CommonJS is compiled, and one in ES modules. */
const RESOLUTIONS = [
	['typescript-5.4', 'commonjs', '--module commonjs --moduleResolution node10'],
	['typescript-5.4', 'commonjs', '--module node16'],
	['typescript-6', 'commonjs', '--module node16'],
	['typescript-6', 'commonjs', '--module nodenext'],
	['typescript-5.4', 'module', '--module node16'],
	['typescript-6', 'module', '--module nodenext'],
	['typescript-6', 'module', '--module esnext --moduleResolution bundler'],
];

ensureInstalled();
ensureBuilt();

const place = mkdtempSync(join(tmpdir(), 'spock-pack-'));
try {
	const archives = packPackages(join(place, 'archives'));
	checkRuntimes(checkConsumer(archives));
} finally {
	rmSync(place, { recursive: true, force: true });
}

function checkConsumer(archives) {
	const app = join(place, 'app');
	cpSync(join(root, 'tools/consumer'), app, { recursive: true });
	say('installing the packages into an app');
	const manifest = installPacked(app, archives, { ...TYPESCRIPTS, ...LIBRARIES, ...RUNTIMES });
	const write = (type) => writeFileSync(join(app, 'package.json'), JSON.stringify({ ...manifest, type }));
	for (const [typescript, type, flags] of RESOLUTIONS) {
		say(`compiling the app with ${typescript} as ${type}: ${flags}`);
		write(type);
		// Beside `strict` what `tsc --init` switches on.
		const strict = '--strict --esModuleInterop --skipLibCheck --noEmit --target es2022 --types node';
		const compiler = join('node_modules', typescript, 'bin/tsc');
		run(process.execPath, [compiler, ...`${strict} ${flags}`.split(' '), 'app.ts'], { cwd: app });
	}
	return app;
}

/** Runs the app by each runtime, with the packed sidecar beside it. */
function checkRuntimes(app) {
	const path = join(place, 'sidecar.sock');
	const sidecar = spawn(
		process.execPath,
		['node_modules/@spock/sidecar/bin/sidecar.js', 'start', '--socket', path, '--backend', 'local', '--grace-ms', '0'],
		{ cwd: app, stdio: ['ignore', 'ignore', 'inherit'] },
	);
	// Also where a check fails, which ends this process.
	process.on('exit', () => sidecar.kill());
	for (const [name, [command, ...args], fails] of RUNS) {
		if (name !== 'Node' && !isLinuxX64) {
			say(`NOT TESTED ON THIS MACHINE: ${name}, whose package is for Linux on x64`);
			continue;
		}
		say(`running the app by ${name}`);
		const { stdout } = run(command, [...args, 'runtime.mjs'], {
			cwd: app,
			env: { ...process.env, SPOCK_SOCKET: path },
			stdio: ['ignore', 'pipe', 'inherit'],
			timeout: RUN_MS_MAX,
		});
		const report = Object.entries(JSON.parse(stdout.trim().split('\n').at(-1)));
		const wrong = report.filter(([step, result]) => (result === 'works') === fails.includes(step));
		if (wrong.length > 0) fail(wrong.map(([step, result]) => `${name}: ${step} ${result}`).join('\n'));
	}
	sidecar.kill();
}
