#!/usr/bin/env node
// Committed, so that the command is linked before the first build.
import { existsSync } from 'node:fs';

const main = new URL('../dist/cli/main.js', import.meta.url);
const args = process.argv.slice(2);

/** What probes and pods run is in a small file of its own: see src/cli/lean.ts. True if it has taken the command. */
async function runLean() {
	if (args[0] !== 'health' && args[0] !== 'wait') return false;
	const lean = new URL('../dist/lean/lean.js', import.meta.url);
	return existsSync(lean) && (await import(lean.href)).runLean(args);
}

if (existsSync(main)) {
	if (!(await runLean())) await import(main.href);
} else {
	process.stderr.write('sidecar: the packages are not built yet: run `npm run build` in the repository first\n');
	process.exitCode = 2;
}
