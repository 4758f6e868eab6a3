import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { rawFiles } from '@spock/testkit/raw-files';
import { sourceBundle } from '@spock/testkit/source-bundle';
import { build, type Plugin } from 'esbuild';

/**
 * Bundles modules of the workspace from their sources, whatever is built, into a directory. Gives the path of a built
 * entry. Needs a checkout.
 */
export async function bundleSources<Entry extends string>(
	entries: Readonly<Record<Entry, string>>,
	outdir: string,
	plugins: readonly Plugin[] = [],
): Promise<(entry: Entry) => string> {
	await build({
		...sourceBundle,
		entryPoints: entries,
		outdir,
		outExtension: { '.js': '.mjs' },
		splitting: true,
		plugins: [rawFiles, thirdPartyStaysOutside, ...plugins],
	});
	return (entry) => join(outdir, `${entry}.mjs`);
}

/** Dependencies are loaded from where they are installed, as the built packages do. */
const thirdPartyStaysOutside: Plugin = {
	name: 'third-party-stays-outside',
	setup({ onResolve }) {
		onResolve({ filter: /^[^./]/ }, ({ path, importer, kind }) => {
			if (kind === 'entry-point' || path.startsWith('node:') || path.startsWith('@spock/')) return undefined;
			return { path: pathToFileURL(createRequire(importer).resolve(path)).href, external: true };
		});
	},
};
