// What a publisher checks before a release: each package is packed as it would be published, and publint and
// are-the-types-wrong look at the archive.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { ensureBuilt, ensureInstalled, pnpm, root, run, say } from './prepare.js';

ensureInstalled();
ensureBuilt();

const archives = mkdtempSync(join(tmpdir(), 'spock-pack-'));
try {
	for (const name of readdirSync(join(root, 'packages'))) {
		const directory = join(root, 'packages', name);
		if (JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')).private) continue;
		pnpm(['--dir', directory, 'pack', '--pack-destination', archives], { quiet: true });
	}
	for (const file of readdirSync(archives)) {
		const archive = join(archives, file);
		say(`checking ${file}`);
		run('node_modules/.bin/publint', ['run', archive, '--strict']);
		run('node_modules/.bin/attw', [archive, '--profile', 'esm-only', '--no-emoji', '--quiet']);
	}
} finally {
	rmSync(archives, { recursive: true, force: true });
}
