// Prints the state machines from code into docs/ARCHITECTURE.md, between their markers. With --check it changes nothing
// and fails when the page is not what the code says.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { build } from 'esbuild';

import { fail, root, say } from './prepare.js';

const page = join(root, 'docs/ARCHITECTURE.md');
const MACHINES = {
	'client-connection': ['packages/client/src/connection/connection-machine.ts', 'connectionMachine'],
	'sidecar-lifecycle': ['packages/sidecar/src/lifecycle/lifecycle-machine.ts', 'lifecycleMachine'],
	'watch-loop': ['packages/discovery/src/watch/watch-loop.ts', 'watchMachine'],
	registration: ['packages/discovery/src/registration/registration-machine.ts', 'registrationMachine'],
	'registration-sync': ['packages/discovery/src/registration/registration-sync.ts', 'registrationSyncMachine'],
	'cache-entry': ['packages/discovery/src/cache/cache-entry-machine.ts', 'cacheEntryMachine'],
};

const contents = [
	`export { printMachine } from './packages/protocol/src/internal/machine.ts';`,
	...Object.values(MACHINES).map(([path, name]) => `export { ${name} } from './${path}';`),
].join('\n');
const bundled = await build({
	stdin: { contents, resolveDir: root, loader: 'ts' },
	bundle: true,
	write: false,
	format: 'esm',
	platform: 'node',
	conditions: ['@spock/source'],
});
const code = await import(
	`data:text/javascript;base64,${Buffer.from(bundled.outputFiles[0].contents).toString('base64')}`
);

const before = readFileSync(page, 'utf8');
let after = before;
for (const [marker, [, name]] of Object.entries(MACHINES)) {
	const range = new RegExp(`(<!-- machine: ${marker} -->\n)[^]*?(<!-- end -->)`);
	if (!range.test(after)) fail(`docs/ARCHITECTURE.md has no place for the machine ${marker}`);
	after = after.replace(range, (_, start, end) => `${start}\n${code.printMachine(code[name])}\n\n${end}`);
}
if (process.argv.includes('--check')) {
	if (after !== before) fail('docs/ARCHITECTURE.md is not what the code says: run `npm run tables states`');
	say('the state tables in docs/ARCHITECTURE.md are those of the code');
} else if (after !== before) {
	writeFileSync(page, after);
	say('docs/ARCHITECTURE.md brought up to date');
}
