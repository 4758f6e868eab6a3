// The packages as a publisher packs them, installed into an app outside of the workspace.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { run } from './prepare.js';

/** Installs archives, and these dependencies, into the directory of an app. Returns the manifest that it has written. */
export function installPacked(app, archives, dependencies, { quiet = false } = {}) {
	const ours = Object.fromEntries(
		archives.map((path) => [path.replace(/^.*\/spock-(.*)-\d.*$/, '@spock/$1'), `file:${path}`]),
	);
	const manifest = { private: true, dependencies: { ...ours, ...dependencies }, overrides: ours };
	writeFileSync(join(app, 'package.json'), JSON.stringify({ ...manifest, type: 'commonjs' }));
	// What CI keeps between its runs.
	const { SPOCK_CACHE_DIR } = process.env;
	const cache = SPOCK_CACHE_DIR ? ['--cache', join(SPOCK_CACHE_DIR, 'npm')] : [];
	const options = ['--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error', ...cache];
	run('npm', ['install', ...options], { cwd: app, quiet });
	return manifest;
}
