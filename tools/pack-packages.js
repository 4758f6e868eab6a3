// Packs the public packages as they would be published.
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { pnpm, root, run, say } from './prepare.js';
import { shippedReadme } from './shipped-docs.js';

const ARCHIVE = /^spock-.*\.tgz$/;

/** The manifests of the public packages, by the names of their folders. */
export function publicPackages() {
	const manifests = readdirSync(join(root, 'packages'))
		.map((name) => [name, join(root, 'packages', name, 'package.json')])
		.filter(([, path]) => existsSync(path))
		.map(([name, path]) => [name, JSON.parse(readFileSync(path, 'utf8'))]);
	return new Map(manifests.filter(([, manifest]) => !manifest.private));
}

/**
 * Packs packages into a folder, in place of the archives there: those named and what they need, or all. `isChecked`: each archive is looked at
 * by publint and are-the-types-wrong. Ends the process where one of them finds something. Returns the paths of the archives.
 */
export function packPackages(folder, { names = [], isChecked = true } = {}) {
	const place = mkdtempSync(join(tmpdir(), 'spock-pack-'));
	try {
		const directories = withNeeds(names).map((name) => unpacked(name, place));
		mkdirSync(folder, { recursive: true });
		for (const name of readdirSync(folder).filter((one) => ARCHIVE.test(one))) rmSync(join(folder, name));
		run('npm', ['pack', ...directories, '--pack-destination', folder, '--ignore-scripts', '--silent'], { quiet: true });
	} finally {
		rmSync(place, { recursive: true, force: true });
	}
	const files = readdirSync(folder).filter((one) => ARCHIVE.test(one));
	for (const file of isChecked ? files : []) {
		const archive = join(folder, file);
		say(`checking ${file}`);
		run(join(root, 'node_modules/.bin/publint'), ['run', archive, '--strict'], { quiet: true });
		// The sidecar is a program with a library for ESM; all others are for every way of resolving modules.
		const profile = file.startsWith('spock-sidecar-') ? 'esm-only' : 'strict';
		run(join(root, 'node_modules/.bin/attw'), [archive, '--profile', profile, '--no-emoji', '--quiet'], {
			quiet: true,
		});
	}
	return files.map((file) => join(folder, file));
}

/** The names of packages with those that they need; all for no name. */
function withNeeds(names) {
	const packages = publicPackages();
	const needed = new Set(names.length > 0 ? names : packages.keys());
	for (const name of needed) {
		for (const dependency of Object.keys(packages.get(name).dependencies ?? {})) {
			const other = dependency.replace(/^@[^/]+\//, '');
			if (packages.get(other)?.name === dependency) needed.add(other);
		}
	}
	return [...needed];
}

/** A package as pnpm packs it, which puts versions for `workspace:`, unpacked, with links in its README that open where it is installed. */
function unpacked(name, place) {
	const source = join(root, 'packages', name);
	const directory = join(place, name);
	mkdirSync(directory);
	const archive = join(place, `${name}.tgz`);
	pnpm(['--dir', source, 'pack', '--out', archive], { quiet: true });
	run('tar', ['-xzf', archive, '-C', directory, '--strip-components', '1']);
	writeFileSync(
		join(directory, 'README.md'),
		shippedReadme(join(source, 'README.md'), name === 'client' ? 'docs' : '../client/docs'),
	);
	return directory;
}
