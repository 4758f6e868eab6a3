// Bundles main.mjs by each bundler, to both kinds of modules, and makes CommonJS of the tests:
//   node bundle.mjs DIRECTORY
import { join } from 'node:path';

import { build } from 'esbuild';
import webpack from 'webpack';

const [directory] = process.argv.slice(2);
/** What Nest and pg load only if it is installed. */
const OPTIONAL = [
	...['@nestjs/microservices', '@nestjs/microservices/microservices-module', '@nestjs/websockets/socket-module'],
	...['@nestjs/platform-express', 'class-transformer', 'class-transformer/storage', 'class-validator', 'pg-native'],
];

const esbuild = { bundle: true, platform: 'node', target: 'node20', external: OPTIONAL, logLevel: 'error' };
/** docs/guide/client.md: without it a CommonJS package in a bundle of ES modules cannot require what is built into Node. */
const banner = {
	js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
};
await build({ ...esbuild, entryPoints: ['main.mjs'], format: 'cjs', outfile: join(directory, 'esbuild.cjs') });
await build({ ...esbuild, entryPoints: ['main.mjs'], format: 'esm', banner, outfile: join(directory, 'esbuild.mjs') });
const withoutCommonJs = [
	'@spock/discovery',
	'@spock/grpc',
	'@spock/pg',
	'@spock/ioredis',
	'@spock/fastify',
	'@spock/nestjs',
];
await build({
	...esbuild,
	entryPoints: ['main.mjs'],
	external: [...withoutCommonJs, '@grpc/grpc-js', 'pg', 'ioredis', 'fastify', 'reflect-metadata', '@nestjs/*'],
	format: 'esm',
	outfile: join(directory, 'esbuild-plain.mjs'),
});
// The same app as CommonJS, with the packages outside.
await build({
	...esbuild,
	entryPoints: ['calls.mjs', 'calls.test.mjs'],
	packages: 'external',
	supported: { 'dynamic-import': false },
	format: 'cjs',
	outdir: 'commonjs',
});

for (const [format, output] of [
	['cjs', { filename: 'webpack.cjs', library: { type: 'commonjs2' } }],
	['mjs', { filename: 'webpack.mjs', library: { type: 'module' }, module: true, chunkFormat: 'module' }],
]) {
	const { promise, resolve, reject } = withResolvers();
	webpack(
		{
			mode: 'production',
			target: 'node20',
			entry: './main.mjs',
			output: { path: join(process.cwd(), directory), chunkFilename: `webpack-[id].${format}`, ...output },
			optimization: { minimize: false },
			externals: Object.fromEntries(
				OPTIONAL.map((name) => [name, `${format === 'cjs' ? 'commonjs' : 'node-commonjs'} ${name}`]),
			),
			...(format === 'mjs' && { experiments: { outputModule: true } }),
			ignoreWarnings: [/./],
		},
		(error, stats) => {
			if (error || stats.hasErrors()) reject(error ?? new Error(stats.toString({ all: false, errors: true })));
			else resolve();
		},
	);
	await promise;
}

/** As `Promise.withResolvers`, which Node 20 lacks. */
function withResolvers() {
	const out = {};
	out.promise = new Promise((resolve, reject) => Object.assign(out, { resolve, reject }));
	return out;
}
