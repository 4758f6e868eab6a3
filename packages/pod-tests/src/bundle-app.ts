import { fileURLToPath } from 'node:url';

import { build } from 'esbuild';

/** Builds the app of the pods into one file, which a container's Node runs with nothing else of this repository. */
export async function bundleApp(outfile: string): Promise<void> {
	await build({
		entryPoints: [fileURLToPath(new URL('./lookup-app.ts', import.meta.url))],
		outfile,
		bundle: true,
		platform: 'node',
		format: 'esm',
		target: 'node20.19',
		conditions: ['@spock/source'],
		logLevel: 'error',
	});
}
