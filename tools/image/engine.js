// buildah and podman as the images and their tests use them: with a storage and a configuration of their own, so that nothing
// that is on the machine is touched, and needing no service of it.
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

import { fail } from '../prepare.js';

/** Where the repository keeps what it has downloaded and built. */
export const cache = process.env.SPOCK_CACHE_DIR || join(homedir(), '.cache/spock');

/** The archives that `npm run image` makes, and the names of the images in them. */
export const IMAGES = {
	sidecar: { name: 'localhost/spock-sidecar:dev', archive: 'dist-images/sidecar.tar' },
	app: { name: 'localhost/spock-example-app:dev', archive: 'dist-images/app.tar' },
};

/** The programs among `names` that this machine does not have. */
export function missingPrograms(names) {
	return names.filter((name) => spawnSync(name, ['--version'], { stdio: 'ignore' }).error !== undefined);
}

// In a container that is itself limited, a process may not raise its limits to podman's defaults; and there is no systemd.
const CONTAINERS_CONF = `[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
# Its locks in memory are shared by all storages of the machine.
lock_type = "file"
`;

/** An engine whose images and containers are below `directory`. */
export function engine(directory) {
	mkdirSync(directory, { recursive: true });
	const configuration = join(directory, 'containers.conf');
	writeFileSync(configuration, CONTAINERS_CONF);
	const env = {
		...process.env,
		CONTAINERS_CONF: configuration,
		// Checks of health by podman are timers of systemd; ours are made by who looks.
		DISABLE_HC_SYSTEMD: 'true',
		BUILDAH_ISOLATION: 'chroot',
		TMPDIR: join(directory, 'tmp'),
	};
	mkdirSync(env.TMPDIR, { recursive: true });
	const places = ['--root', join(directory, 'storage'), '--runroot', join(directory, 'run')];

	const podmanPlaces = [...places, '--tmpdir', join(directory, 'libpod')];

	/** What the command has printed; ends the process with its output when it fails, unless `mayFail`. */
	function run(program, places, args, { quiet = true, mayFail = false } = {}) {
		const result = spawnSync(program, [...places, ...args], {
			env,
			encoding: 'utf8',
			stdio: ['ignore', 'pipe', quiet ? 'pipe' : 'inherit'],
			maxBuffer: 64 * 1024 * 1024,
		});
		if (result.error !== undefined) fail(`could not run ${program}: ${result.error.message}`);
		if (result.status !== 0 && !mayFail) {
			fail(`failed: ${program} ${args.join(' ')}\n${result.stdout}${result.stderr ?? ''}`, result.status ?? 1);
		}
		return { status: result.status, stdout: result.stdout.trim(), stderr: result.stderr?.trim() ?? '' };
	}
	return {
		env,
		podmanPlaces,
		buildah: (args, options) => run('buildah', places, args, options),
		podman: (args, options) => run('podman', podmanPlaces, args, options),
	};
}
