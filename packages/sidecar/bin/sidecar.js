#!/usr/bin/env node
// Committed, so that the command is linked before the first build.
import { existsSync } from 'node:fs';

const main = new URL('../dist/cli/main.js', import.meta.url);
if (existsSync(main)) {
	await import(main.href);
} else {
	process.stderr.write('sidecar: the packages are not built yet: run `npm run build` in the repository first\n');
	process.exitCode = 2;
}
