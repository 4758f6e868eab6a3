// `pnpm test:browser`: the status page of a built sidecar in a real Chromium, half a minute. Screenshots go to reports/.
// Arguments go to vitest: `pnpm test:browser -t keyboard`.
import { ensureBuilt, ensureInstalled } from './prepare.js';
import { runSuite } from './run-suite.js';

ensureInstalled();
ensureBuilt();
process.exit(runSuite('browser', process.argv.slice(2)));
