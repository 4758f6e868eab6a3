// `npm run suite NAME`: the longer suites. docs/TESTING.md says what each does and needs, and which options of its own it takes. All
// other arguments go to vitest: `npm run suite -- cluster -t SIGKILL`. With SPOCK_SHARE=K/N every Nth test is run, from the Kth on.
// A suite that measures prints its figures, and leaves them in reports/.
import { ensureBuilt, ensureInstalled, fail } from './prepare.js';
import { removeFigures, runSuite, showFigures, takeOptions } from './run-suite.js';

/** Options are passed to the tests as SPOCK_SUITE_OPTION. `keeps`: an option with which the figures of an older run stay. */
const SUITES = {
	browser: { texts: ['against'], flags: ['pictures'], figures: ['browser.json'] },
	cluster: { figures: ['cluster.json'] },
	events: { counts: ['times'] },
	faults: { counts: ['times', 'pairs'], flags: ['add'], keeps: 'add', figures: ['faults.json'] },
	handover: {
		project: 'load',
		only: ['packages/client/test/handover'],
		counts: ['turns'],
		values: { turns: 200 },
		figures: ['handover.json', 'event-handover.json'],
	},
	hostile: { figures: ['hostile.json'] },
	load: {},
	oracle: { counts: ['seed', 'seconds', 'services', 'clients'] },
	outage: {
		project: 'events',
		only: ['packages/client/test/events/outage.events.itest.ts'],
		counts: ['seconds', 'rate'],
		values: { seconds: 600 },
	},
	soak: { counts: ['cycles'], figures: ['soak.json'] },
	surroundings: {},
};

/** Suites with a program of their own, which takes all other arguments. */
const PROGRAMS = {
	apiserver: './test-apiserver.js',
	figures: './test-pod.js',
	fuzz: './fuzz.js',
	kubelet: './test-kubelet.js',
	pod: './test-pod.js',
	simulation: './simulation.js',
	skew: './test-skew.js',
};

const [name, ...args] = process.argv.slice(2);
if (Object.hasOwn(PROGRAMS, name ?? '')) {
	// The figures of the images are those tests of the pod that are called so.
	process.argv.splice(2, 1, ...(name === 'figures' ? ['figures'] : []));
	await import(PROGRAMS[name]);
	process.exit();
}
const suite = Object.hasOwn(SUITES, name ?? '') ? SUITES[name] : undefined;
if (suite === undefined) {
	const names = [...Object.keys(SUITES), ...Object.keys(PROGRAMS)].sort();
	fail(`unknown suite "${name ?? ''}"; expected one of: ${names.join(', ')}`, 2);
}
const { project = name, only = [], counts = [], texts = [], flags = [], figures = [], keeps } = suite;
const { values, rest } = takeOptions(args, { counts, texts, flags });

ensureInstalled();
ensureBuilt();
// Figures of a run of one test alone stand beside the others.
if (rest.length === 0 && values[keeps] === undefined) removeFigures(figures);
const variables = [...counts, ...texts, ...flags].map((option) => [
	`SPOCK_${name}_${option}`.toUpperCase(),
	values[option] ?? suite.values?.[option],
]);
const status = runSuite(project, [...only, ...rest], Object.fromEntries(variables));
showFigures(figures);
process.exit(status);
