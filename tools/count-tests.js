// Adds up the runners' reports named on the command line and prints `N passed, N failed` as its last line.
// Skipped tests count as failed, but for reports behind `--share`, of which only a share was run. Fails when anything failed or nothing ran.
import { readFileSync } from 'node:fs';

let passed = 0;
let failed = 0;
let isShare = false;
for (const path of process.argv.slice(2)) {
	if (path === '--share') {
		isShare = true;
		continue;
	}
	const report = JSON.parse(readFileSync(path, 'utf8'));
	const left = report.numPendingTests + (report.numTodoTests ?? 0);
	passed += report.numPassedTests;
	failed += report.numFailedTests + (isShare ? 0 : left);
	process.stdout.write(`${path}: ${report.numPassedTests} passed, ${report.numFailedTests} failed, ${left} left out\n`);
}
process.stdout.write(`${passed} passed, ${failed} failed\n`);
process.exit(failed === 0 && passed > 0 ? 0 : 1);
