import { createRequire } from 'node:module';
import { gzipSync } from 'node:zlib';

import { build } from 'esbuild';

import type { BenchResults } from '../results.ts';

/** The client as a service that bundles itself would carry it: minified, everything but Node's own modules inside. */
export async function measureBundle(): Promise<BenchResults['bundle']> {
	const entry = createRequire(import.meta.url).resolve('@spock/client');
	const { outputFiles, metafile } = await build({
		entryPoints: [entry],
		bundle: true,
		minify: true,
		platform: 'node',
		format: 'esm',
		target: 'node20.19',
		write: false,
		metafile: true,
	});
	const [output] = outputFiles;
	if (output === undefined) throw new Error('esbuild gave no output');
	const strangers = Object.keys(metafile.inputs).filter((path) => path.includes('node_modules/'));
	return {
		minifiedBytes: output.contents.length,
		gzipBytes: gzipSync(output.contents, { level: 9 }).length,
		thirdPartyDependencies: new Set(strangers.map(packageOf)).size,
	};
}

function packageOf(path: string): string {
	const [first = '', second = ''] = (path.split('node_modules/').at(-1) ?? '').split('/');
	return first.startsWith('@') ? `${first}/${second}` : first;
}
