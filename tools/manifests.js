// `npm run manifests`: renders everything of k8s/ into reports/manifests/, checks each against the API of the versions of Kubernetes
// that it is promised for, and runs the tests of its rules. `--write` first writes what is made of the rest: the charts, the policy of
// k8s/injector, and the patches for CronJobs. `--from DIR` renders and checks another directory of that form, into DIR/rendered, and runs no tests. What else is given
// goes to vitest.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

import { ensureInstalled, fail, root, say } from './prepare.js';
import { runSuite, takeOptions } from './run-suite.js';

const { values, rest } = takeOptions(process.argv.slice(2), { flags: ['write'], texts: ['from'] });
ensureInstalled();
// Only now, because they need what has just been installed.
const { generateFiles } = await import('./kubernetes/generated-files.js');
const { ensureCompose, ensureInjector, ensureManifestTools } = await import('./kubernetes/manifest-tools.js');
const { KUBERNETES_VERSIONS, problemsOf, render, renderings } = await import('./kubernetes/render-manifests.js');

const isOther = values.from !== undefined;
const directory = isOther ? resolve(values.from) : join(root, 'k8s');
const output = isOther ? join(directory, 'rendered') : join(root, 'reports/manifests');
rmSync(output, { recursive: true, force: true });
mkdirSync(output, { recursive: true });

const tools = ensureManifestTools(KUBERNETES_VERSIONS);
if (values.write) generateFiles(directory, tools, writeFileSync);
let problems = 0;
for (const { name, path, versions } of renderings(directory)) {
	const file = join(output, `${name.replace('.yaml', '')}.yaml`);
	try {
		writeFileSync(file, render(path, tools));
	} catch (error) {
		fail(error.message);
	}
	for (const version of versions) {
		const found = problemsOf(file, version, tools);
		problems += found.length;
		say(`${name}, Kubernetes ${version}: ${found.length === 0 ? 'good' : ['wrong', ...found].join('\n  ')}`);
	}
}
if (problems > 0) fail(`${problems} manifests are wrong; as they were rendered they are in ${output}`);
if (isOther) process.exit();
// Before the tests, of which several want it at once.
ensureInjector(KUBERNETES_VERSIONS.at(-1));
ensureCompose();
process.exit(runSuite('manifests', rest));
