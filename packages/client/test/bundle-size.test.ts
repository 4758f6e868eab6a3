import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

import { build } from 'esbuild';
import { describe, expect, it } from 'vitest';

/** What the client weighs in an app that bundles it, minified and gzipped: what was reached when this was set, and 2 %. */
const GZIP_BYTES_MAX = 42_940;
/** What the bridge to OpenTelemetry adds: what was reached, and 2 %. */
const OTEL_GZIP_BYTES_MAX = 2450;
/** What `./events` adds to an app that bundles the client already: the goal is 9 kB, and this is what was reached, and 2 %. */
const EVENTS_GZIP_BYTES_MAX = 16_690;
/** Every module of Node that the client uses. A new one is a decision, and not an accident. */
const NODE_MODULES = [
	...['node:async_hooks', 'node:buffer', 'node:diagnostics_channel', 'node:fs', 'node:net', 'node:path'],
	...['node:perf_hooks', 'node:timers'],
];
const LARGEST_SHOWN = 15;

/** A part of the client as an app bundles it, from source: the tests need no build. */
async function bundle(entries: string | readonly string[], external: string[] = []) {
	const exports = [entries].flat().map((entry) => `export * from './${entry}';`);
	const { outputFiles, metafile, warnings } = await build({
		stdin: {
			contents: exports.join('\n'),
			loader: 'ts',
			resolveDir: fileURLToPath(new URL('../src', import.meta.url)),
		},
		external,
		conditions: ['@spock/source'],
		bundle: true,
		minify: true,
		platform: 'node',
		format: 'esm',
		target: 'node20.19',
		write: false,
		metafile: true,
		logLevel: 'silent',
	});
	const [output] = Object.values(metafile.outputs);
	const [file] = outputFiles;
	if (output === undefined || file === undefined) throw new Error('esbuild gave no output');
	return { text: file.contents, output, inputs: Object.keys(metafile.inputs), warnings };
}

const { text, output, inputs, warnings } = await bundle('index.ts');

/** What the bundle is made of, largest first, for the message of a test that fails. */
function largestInputs(): string {
	const lines = Object.entries(output.inputs)
		.map(([path, { bytesInOutput }]) => ({ path, bytesInOutput }))
		.sort((left, right) => right.bytesInOutput - left.bytesInOutput)
		.slice(0, LARGEST_SHOWN)
		.map(({ path, bytesInOutput }) => `${String(bytesInOutput).padStart(7)} ${path}`);
	return `the largest inputs, in minified bytes:\n${lines.join('\n')}\n`;
}

describe('the bundle of the client', () => {
	it('stays as small as it is', () => {
		const gzipBytes = gzipSync(text, { level: 9 }).length;
		expect(gzipBytes, largestInputs()).toBeLessThanOrEqual(GZIP_BYTES_MAX);
	});

	it('holds nothing of a third party', () => {
		const strangers = inputs.filter((path) => path.includes('node_modules/'));
		expect(strangers, largestInputs()).toEqual([]);
	});

	it('uses these modules of Node and no other', () => {
		const imports = output.imports.filter(({ external }) => external === true).map(({ path }) => path);
		expect([...new Set(imports)].sort()).toEqual(NODE_MODULES);
	});

	it('is made without a warning', () => {
		expect(warnings).toEqual([]);
	});

	it('has nothing of events, which add no more than they did', async () => {
		const isOfEvents = (path: string): boolean => /client\/src\/events\//.test(path);
		expect(inputs.filter(isOfEvents)).toEqual([]);
		const both = await bundle(['index.ts', 'events/index.ts']);
		expect(both.inputs.filter(isOfEvents).length).toBeGreaterThan(10);
		const added = gzipSync(both.text, { level: 9 }).length - gzipSync(text, { level: 9 }).length;
		expect(added).toBeLessThanOrEqual(EVENTS_GZIP_BYTES_MAX);
	});

	it('has nothing of the bridge to OpenTelemetry, which is a part of its own that needs nothing else of the client', async () => {
		expect(inputs.filter((path) => path.includes('otel'))).toEqual([]);
		const bridge = await bundle('otel.ts', ['@opentelemetry/api']);
		const own = bridge.inputs.filter((path) => path.includes('packages/client/'));
		expect(own.map((path) => path.slice(path.lastIndexOf('/') + 1)).sort()).toEqual([
			'otel-events.ts',
			'otel.ts',
			'version.ts',
		]);
		const imports = bridge.output.imports.filter(({ external }) => external === true).map(({ path }) => path);
		expect([...new Set(imports)].sort()).toEqual(['@opentelemetry/api', 'node:diagnostics_channel']);
		expect(gzipSync(bridge.text, { level: 9 }).length).toBeLessThanOrEqual(OTEL_GZIP_BYTES_MAX);
	});
});
