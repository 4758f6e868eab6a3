// `pnpm coverage`: `npm test` and `npm run test:servers` with coverage, then the share of branches by package, and a failure where it is too small.
// `pnpm coverage --report` prints that of the last run again. Other arguments go to vitest: with a part of the tests the
// figures are of that part.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

import { coverageReport } from './coverage-report.js';
import { fail, root, say } from './prepare.js';

const results = join(root, 'reports/coverage/coverage-final.json');
const args = process.argv.slice(2);

if (!args.includes('--report')) {
	const result = spawnSync(process.execPath, [join(root, 'tools/test.js'), '--all', ...args], {
		cwd: root,
		stdio: 'inherit',
		env: { ...process.env, SPOCK_COVERAGE: '1' },
	});
	process.exit(result.status ?? 1);
}

if (!existsSync(results)) fail(`there is no ${relative(root, results)}: run \`pnpm coverage\` first`);
const { text, isGood } = coverageReport(JSON.parse(readFileSync(results, 'utf8')));
say(`\nbranches that the tests take in this process (\`pnpm coverage\`):\n${text}`);
process.exit(isGood ? 0 : 1);
