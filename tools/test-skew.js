// `npm run suite skew`: programs of this checkout and of an earlier commit work together, as they do while an upgrade or a rollback is
// half done. `--with COMMIT` takes another commit. Arguments go to vitest: `npm run suite -- skew -t 'take-over'`.
import { earlierBuild } from './earlier-build.js';
import { ensureBuilt, ensureInstalled } from './prepare.js';
import { runSuite, takeOptions } from './run-suite.js';

/** The last commit whose sidecars and clients know neither deltas nor parts of pushed snapshots. */
const EARLIER = '51cdc5a1871ff9a22f381880a58e1dee08c93967';

const { values, rest } = takeOptions(process.argv.slice(2), { texts: ['with'] });
ensureInstalled();
ensureBuilt();
process.exit(runSuite('skew', rest, { SPOCK_SKEW_EARLIER: await earlierBuild(values.with ?? EARLIER) }));
