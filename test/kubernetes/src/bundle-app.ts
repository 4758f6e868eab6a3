import { fileURLToPath } from 'node:url';

import { sourceBundle } from '@spock/testkit/source-bundle';
import { build } from 'esbuild';

/** Builds the app of the pods into one file, which a container's Node runs with nothing else of this repository. */
export async function bundleApp(outfile: string): Promise<void> {
	await build({
		...sourceBundle,
		entryPoints: [fileURLToPath(new URL('./lookup-app.ts', import.meta.url))],
		outfile,
	});
}
