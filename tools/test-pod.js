// `npm run suite pod`: builds the images and has podman play the pod of k8s/ with them, a minute. It needs root, buildah, podman, runc
// and catatonit (Debian packages), and a Consul server as the other tests do. Pods, volumes and images are in a storage of this run,
// and their network is one of its own, with loopback and a Consul. Arguments go to vitest:
// `npm run suite pod lives`.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { engine as createEngine, IMAGES, missingPrograms } from './image/engine.js';
import { fail, root, run } from './prepare.js';
import { removeFigures, runSuite, showFigures, takeOptions } from './run-suite.js';

const FIGURES = ['pod.json', 'image.json'];

const { values, rest } = takeOptions(process.argv.slice(2), { flags: ['inside'] });

if (!values.inside) {
	if (process.platform !== 'linux' || process.getuid() !== 0) fail('NOT TESTED: a pod is played on Linux, by root');
	const missing = missingPrograms(['buildah', 'podman', 'runc', 'unshare', 'ip']);
	if (missing.length > 0) fail(`NOT TESTED: to play a pod install ${missing.join(', ')}`);
	run(process.execPath, [join(root, 'tools/image.js')]);
	removeFigures(FIGURES);
	const self = fileURLToPath(import.meta.url);
	const { status } = spawnSync('unshare', ['--net', process.execPath, self, '--inside', ...rest], { stdio: 'inherit' });
	if (status !== 0) process.exit(status ?? 1);
	showFigures(FIGURES);
	process.exit(0);
}

run('ip', ['link', 'set', 'lo', 'up']);
const directory = mkdtempSync('/tmp/spock-pod-');
const engine = createEngine(directory);
process.on('exit', () => {
	// Also where a step ends the process. Whatever is there is of this run.
	engine.podman(['pod', 'rm', '--all', '--force', '--time', '0'], { mayFail: true });
	engine.podman(['volume', 'rm', '--all', '--force'], { mayFail: true });
	rmSync(directory, { recursive: true, force: true });
});
for (const { archive } of Object.values(IMAGES)) engine.podman(['load', '--quiet', '--input', join(root, archive)]);
const { CONTAINERS_CONF, DISABLE_HC_SYSTEMD, TMPDIR } = engine.env;
const images = Object.entries(IMAGES).map(([of, { name, archive }]) => [of, { name, archive: join(root, archive) }]);
const given = {
	args: engine.podmanPlaces,
	env: { CONTAINERS_CONF, DISABLE_HC_SYSTEMD, TMPDIR },
	directory,
	images: Object.fromEntries(images),
};
process.exitCode = runSuite('pod', rest, { SPOCK_POD_ENGINE: JSON.stringify(given) });
