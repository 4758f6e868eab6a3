// `pnpm image`: builds the images of the sidecar and of the example app into dist-images/, for `podman load -i`, `docker load -i` or
// `ctr images import`. The base is made on this machine, with no registry; BASE=docker.io/library/node:24-bookworm-slim@sha256:…
// names another one, BUILD_BASE and NODE are explained in the Containerfile. It needs buildah and podman (Debian packages).
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { cache, engine as createEngine, IMAGES, missingPrograms } from './image/engine.js';
import { localBases } from './image/local-base.js';
import { ensureInstalled, fail, pnpm, root, say } from './prepare.js';

const missing = missingPrograms(['buildah', 'podman']);
if (missing.length > 0)
	fail(
		`to build images install ${missing.join(' and ')} (apt-get install --no-install-recommends buildah podman runc)`,
	);
ensureInstalled();

const engine = createEngine(join(cache, 'containers'));
const { BASE, BUILD_BASE = BASE, NODE } = process.env;
const isLocal = BASE === undefined || BASE === '';
const { base, buildBase } = isLocal ? localBases(engine) : { base: BASE, buildBase: BUILD_BASE };

const git = (args) => spawnSync('git', args, { cwd: root, encoding: 'utf8' }).stdout?.trim() ?? '';
const committedAt = Number(process.env.SOURCE_DATE_EPOCH || git(['log', '-1', '--format=%ct']) || 0);
const { version } = JSON.parse(readFileSync(join(root, 'packages/sidecar/package.json'), 'utf8'));
const buildArguments = {
	BASE: base,
	BUILD_BASE: buildBase,
	VERSION: version,
	REVISION: git(['rev-parse', 'HEAD']) || 'unknown',
	CREATED: new Date(committedAt * 1000).toISOString(),
	...(NODE && { NODE }),
};

/** The packages that this machine has already: every one is known by its checksum, and only what is missing is fetched. */
function storeVolume() {
	const { stdout } = pnpm(['store', 'path'], { quiet: true });
	return ['--volume', `${dirname(stdout.trim())}:/pnpm/store:O`];
}

/** Builds one of the images; gives its id. */
function build(target) {
	const args = Object.entries(buildArguments).flatMap(([name, value]) => ['--build-arg', `${name}=${value}`]);
	const { stdout } = engine.buildah(
		// HEALTHCHECK is known in Docker's format alone. The layers' times are those of the commit, so that equal sources make equal layers.
		['bud', '--format', 'docker', '--layers', '--timestamp', String(committedAt), ...storeVolume(), ...args].concat([
			'--target',
			target,
			'--tag',
			IMAGES[target].name,
			'--file',
			join(root, 'Containerfile'),
			root,
		]),
	);
	return stdout.split('\n').at(-1);
}

mkdirSync(join(root, 'dist-images'), { recursive: true });
for (const [target, { name, archive }] of Object.entries(IMAGES)) {
	const id = build(target);
	rmSync(join(root, archive), { force: true });
	engine.buildah(['push', '--quiet', id, `docker-archive:${join(root, archive)}:${name}`]);
	say(`${archive}: ${name}`);
}
// What is left of builds of a week ago would fill the disk one day.
engine.podman(['image', 'prune', '--force', '--filter', 'until=168h'], { mayFail: true });
