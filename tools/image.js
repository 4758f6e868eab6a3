// `npm run image`: builds the images of the sidecar and of the example app into dist-images/, for `podman load -i`, `docker load -i` or
// `ctr images import`. The base is made on this machine, with no registry; BASE=docker.io/library/node:24-bookworm-slim@sha256:…
// names another one; BUILD_BASE and BASE_NODE are BUILD_BASE and NODE of the Containerfile. It needs buildah and podman (Debian packages).
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { cache, engine as createEngine, IMAGES, missingPrograms } from './image/engine.js';
import { localBases } from './image/local-base.js';
import { ensureInstalled, fail, pnpm, root, say } from './prepare.js';

/** A build makes some twenty, one for each step. */
const IMAGES_KEPT_MAX = 200;

const missing = missingPrograms(['buildah', 'podman']);
if (missing.length > 0)
	fail(
		`to build images install ${missing.join(' and ')} (apt-get install --no-install-recommends buildah podman runc)`,
	);
ensureInstalled();

const engine = createEngine(join(cache, 'containers'));
// Not NODE: npm and pnpm set that to their own for every script.
const { BASE, BUILD_BASE = BASE, BASE_NODE } = process.env;
const isLocal = BASE === undefined || BASE === '';
const { base, buildBase } = isLocal ? localBases(engine) : { base: BASE, buildBase: BUILD_BASE };

const git = (args) => spawnSync('git', args, { cwd: root, encoding: 'utf8' }).stdout?.trim() ?? '';
const committedAt = Number(process.env.SOURCE_DATE_EPOCH || git(['log', '-1', '--format=%ct']) || 0);
const { version } = JSON.parse(readFileSync(join(root, 'packages/sidecar/package.json'), 'utf8'));
const buildArguments = { BASE: base, BUILD_BASE: buildBase, ...(BASE_NODE && { NODE: BASE_NODE }) };
// Given here and not by arguments of the Containerfile: buildah's cache would not see those change.
const labels = {
	version,
	revision: git(['rev-parse', 'HEAD']) || 'unknown',
	created: new Date(committedAt * 1000).toISOString(),
};

/**
 * The Containerfile with the labels of this build in its last stages. By value: buildah takes a step from its cache although an
 * argument in it, or a label of the command line, has changed.
 */
function labelled() {
	const pairs = Object.entries(labels).map(([name, value]) => `org.opencontainers.image.${name}="${value}"`);
	const text = readFileSync(join(root, 'Containerfile'), 'utf8');
	return text.replace(/^FROM \S+ AS (?:sidecar|app)$/gm, (stage) => `${stage}\nLABEL ${pairs.join(' ')}`);
}

/** The packages that this machine has already: every one is known by its checksum, and only what is missing is fetched. */
function storeVolume() {
	const { stdout } = pnpm(['store', 'path'], { quiet: true });
	return ['--volume', `${dirname(stdout.trim())}:/pnpm/store:O`];
}

const containerfile = join(root, 'dist-images/Containerfile');

/** Builds one of the images; gives its id. */
function build(target) {
	// HEALTHCHECK is known in Docker's format alone. All times are the same, so that the same files make the same layer.
	const format = ['--format', 'docker', '--layers', '--timestamp', '0'];
	const given = Object.entries(buildArguments).flatMap(([name, value]) => ['--build-arg', `${name}=${value}`]);
	const what = ['--target', target, '--tag', IMAGES[target].name, '--file', containerfile, root];
	const { stdout } = engine.buildah(['bud', ...format, ...storeVolume(), ...given, ...what]);
	return stdout.split('\n').at(-1);
}

mkdirSync(join(root, 'dist-images'), { recursive: true });
writeFileSync(containerfile, labelled());
for (const [target, { name, archive }] of Object.entries(IMAGES)) {
	const id = build(target);
	rmSync(join(root, archive), { force: true });
	engine.buildah(['push', '--quiet', id, `docker-archive:${join(root, archive)}:${name}`]);
	say(`${archive}: ${name}`);
}
// Each build leaves the steps of the one before it, which would fill the disk one day. The next build takes longer then.
const { stdout: kept } = engine.podman(['images', '--all', '--quiet']);
if (kept.split('\n').length > IMAGES_KEPT_MAX) engine.podman(['image', 'prune', '--force'], { mayFail: true });
