// `node tools/image/bundle.js DIRECTORY [NODE]`: what the images add to their base, under DIRECTORY/sidecar and DIRECTORY/app.
// NODE is the path of Node in the base.
// Both programs are bundled from the sources with all that they load: a tenth of what the packages need as they are installed, a
// faster start, and less memory, because every module costs some. Names of functions are kept for stack traces.
import {
	chmodSync,
	copyFileSync,
	existsSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	symlinkSync,
	writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { build } from 'esbuild';

import { rawFiles } from '../../test/testkit/src/raw-files.js';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const [out, node = '/usr/local/bin/node'] = process.argv.slice(2);
if (out === undefined) {
	process.stderr.write('usage: node tools/image/bundle.js DIRECTORY [NODE]\n');
	process.exit(2);
}

/** CommonJS packages in the bundle ask for Node's modules by `require`, which a module has not. */
const REQUIRE =
	"import { createRequire as createRequireOfBundle } from 'node:module';const require = createRequireOfBundle(import.meta.url);";

/**
 * Node's modules by `require`, also where the source has an import: an import asks a module for each of its exports, and
 * `node:http` loads a whole WebSocket client for one of them, which costs 4 MB of memory.
 */
const builtinsByRequire = {
	name: 'builtins-by-require',
	setup({ onResolve, onLoad }) {
		onResolve({ filter: /^node:https?$/ }, ({ path, kind }) =>
			kind === 'import-statement' ? { path, namespace: 'builtin' } : { path, external: true },
		);
		onLoad({ filter: /./, namespace: 'builtin' }, ({ path }) => ({
			contents: `module.exports = require('${path}')`,
			loader: 'js',
		}));
	},
};

/** The licences of the packages that are in the bundle, under `licenses/`. */
function copyLicences(inputs, target) {
	const packages = new Set(
		inputs
			.map((input) => input.match(/^(.*node_modules\/((?:@[^/]+\/)?[^/]+))\//))
			.filter(Boolean)
			.map(([, directory]) => directory),
	);
	for (const directory of packages) {
		const { name, version } = JSON.parse(readFileSync(join(root, directory, 'package.json'), 'utf8'));
		for (const file of readdirSync(join(root, directory)).filter((file) => /^(licen[cs]e|notice)/i.test(file))) {
			copyFileSync(join(root, directory, file), join(target, `${name.replace('/', '+')}@${version}-${file}`));
		}
	}
	copyFileSync(join(root, 'LICENSE'), join(target, 'LICENSE'));
}

/** Bundles entries with all that they load. */
function bundle(entries) {
	return build({
		absWorkingDir: root,
		bundle: true,
		platform: 'node',
		target: 'node20.19',
		format: 'esm',
		conditions: ['@spock/source'],
		minifyWhitespace: true,
		minifySyntax: true,
		legalComments: 'none',
		metafile: true,
		banner: { js: REQUIRE },
		plugins: [builtinsByRequire, rawFiles],
		logLevel: 'warning',
		logLimit: 5,
		...entries,
	});
}

/** Bundles `entry` into `home` of the image called `name`, and links `commands` to `executable`, which starts it. */
async function program({ name, commands, entry, lean, home, chunks, executable, stub, flags }) {
	const base = join(out, name);
	const directory = join(base, home);
	const { metafile } = await bundle({ entryPoints: [entry], outdir: join(directory, chunks), splitting: true });
	// One file, as in the package: finding modules is most of what a probe costs.
	if (lean !== undefined) await bundle({ entryPoints: { lean }, outdir: join(directory, 'dist/lean') });
	const { version } = JSON.parse(readFileSync(join(root, 'packages/sidecar/package.json'), 'utf8'));
	writeFileSync(
		join(directory, 'package.json'),
		`${JSON.stringify({ name: `@spock/${commands[0]}-image`, version, type: 'module' })}\n`,
	);
	const licences = join(directory, 'licenses');
	mkdirSync(licences, { recursive: true });
	copyLicences(Object.keys(metafile.inputs), licences);

	// A base need have neither a shell nor `env`: the kernel starts Node by the first line.
	const script = join(directory, executable);
	mkdirSync(dirname(script), { recursive: true });
	const body = readFileSync(stub === undefined ? script : join(root, stub), 'utf8').replace(/^#!.*\n/, '');
	writeFileSync(script, `#!${[node, ...flags].join(' ')}\n${body}`);
	chmodSync(script, 0o755);
	mkdirSync(join(base, 'usr/local/bin'), { recursive: true });
	for (const command of commands) symlinkSync(join('/', home, executable), join(base, 'usr/local/bin', command));
}

if (existsSync(join(out, 'sidecar'))) {
	process.stderr.write(`${out} holds a bundle already\n`);
	process.exit(1);
}
await program({
	name: 'sidecar',
	commands: ['sidecar', 'spock'],
	entry: 'packages/sidecar/src/cli/main.ts',
	lean: 'packages/sidecar/src/cli/lean.ts',
	home: 'opt/spock',
	chunks: 'dist/cli',
	executable: 'bin/sidecar.js',
	stub: 'packages/sidecar/bin/sidecar.js',
	// A young generation of 1 MB: 1.5 MB less at rest and 5 MB less under load, for no CPU that could be measured.
	flags: ['--max-semi-space-size=1'],
});
for (const [command, entry] of [
	['pod-app', 'examples/pod-app/app.js'],
	['barista', 'examples/compose/barista.js'],
	['waiter', 'examples/compose/waiter.js'],
]) {
	const home = command === 'pod-app' ? 'opt/app' : `opt/${command}`;
	await program({ name: 'app', entry, home, chunks: '.', executable: basename(entry), flags: [], commands: [command] });
}
