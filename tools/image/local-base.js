// The base of the images where no registry can be reached: Node with the libraries that it is linked to, and nothing else; for the
// build a shell and pnpm as well. Node comes from the npm package that holds its binary, the rest from this machine.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
	chmodSync,
	copyFileSync,
	cpSync,
	mkdirSync,
	mkdtempSync,
	readFileSync,
	realpathSync,
	rmSync,
	symlinkSync,
	writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { fail, root, run } from '../prepare.js';

/** The newest line with long-term support. */
export const NODE_MAJOR = 24;

/** Loaded by the C library when names are looked up, and so not in the list of what Node is linked to. */
const NAME_SERVICE = ['libnss_files.so.2', 'libnss_dns.so.2', 'libresolv.so.2'];

const FILES = {
	'etc/passwd': 'root:x:0:0:root:/root:/sbin/nologin\nnobody:x:65534:65534:nobody:/:/sbin/nologin\n',
	'etc/group': 'root:x:0:\nnogroup:x:65534:\n',
	'etc/nsswitch.conf': 'passwd: files\ngroup: files\nhosts: files dns\n',
};

/** What the shell of the build stage is asked for. */
const APPLETS = ['sh', 'env', 'cat', 'ls', 'uname'];

/** The libraries that a program is linked to, as paths of this machine. */
function librariesOf(program) {
	const { stdout } = run('ldd', [program], { quiet: true });
	return [...stdout.matchAll(/(\/\S+) \(0x/g)].map(([, path]) => path);
}

function copyRuntime(rootfs, node) {
	const libraries = librariesOf(node);
	const directory = dirname(
		libraries.find((path) => basename(path) === 'libc.so.6') ?? fail('Node is not linked to libc'),
	);
	for (const path of [...libraries, ...NAME_SERVICE.map((name) => join(directory, name))]) {
		const target = join(rootfs, path);
		mkdirSync(dirname(target), { recursive: true });
		copyFileSync(realpathSync(path), target);
	}
	mkdirSync(join(rootfs, 'usr/local/bin'), { recursive: true });
	copyFileSync(node, join(rootfs, 'usr/local/bin/node'));
	for (const [path, content] of Object.entries(FILES)) {
		mkdirSync(dirname(join(rootfs, path)), { recursive: true });
		writeFileSync(join(rootfs, path), content);
	}
	mkdirSync(join(rootfs, 'tmp'));
	chmodSync(join(rootfs, 'tmp'), 0o1777);
}

function copyBuildTools(rootfs) {
	const found = spawnSync('sh', ['-c', 'command -v busybox'], { encoding: 'utf8' }).stdout.trim();
	if (found === '') fail('the build stage needs a shell: install busybox (Debian: busybox-static)');
	mkdirSync(join(rootfs, 'bin'), { recursive: true });
	mkdirSync(join(rootfs, 'usr/bin'), { recursive: true });
	copyFileSync(found, join(rootfs, 'bin/busybox'));
	for (const applet of APPLETS) symlinkSync('/bin/busybox', join(rootfs, applet === 'env' ? 'usr/bin' : 'bin', applet));
	cpSync(realpathSync(join(root, 'node_modules/pnpm')), join(rootfs, 'usr/local/lib/pnpm'), { recursive: true });
	symlinkSync('/usr/local/lib/pnpm/bin/pnpm.cjs', join(rootfs, 'usr/local/bin/pnpm'));
}

/** Makes an image of what `fill` puts into a directory. */
function imageFrom(engine, name, fill) {
	const directory = mkdtempSync(join(tmpdir(), 'spock-base-'));
	try {
		const rootfs = join(directory, 'rootfs');
		mkdirSync(rootfs);
		fill(rootfs);
		writeFileSync(
			join(directory, 'Containerfile'),
			'FROM scratch\nCOPY rootfs/ /\nENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n',
		);
		engine.buildah(['bud', '--format', 'docker', '--timestamp', '0', '--tag', name, directory]);
		// Those of another Node or pnpm are not needed any more.
		const [repository] = name.split(':');
		const older = engine.podman([
			'images',
			'--filter',
			`reference=${repository}`,
			'--format',
			'{{.Repository}}:{{.Tag}}',
		]);
		const others = older.stdout.split('\n').filter((other) => other !== name && other.startsWith(repository));
		if (others.length > 0) engine.podman(['rmi', ...others], { mayFail: true });
	} finally {
		rmSync(directory, { recursive: true, force: true });
	}
}

/** Makes both bases if they are not there; gives their names. */
export function localBases(engine) {
	const { stdout } = run('bash', [join(root, 'tools/node-binary.sh'), String(NODE_MAJOR)], { quiet: true });
	const node = stdout.trim().split('\n').at(-1);
	const hash = createHash('sha256').update(readFileSync(fileURLToPath(import.meta.url)));
	hash.update(run(node, ['--version'], { quiet: true }).stdout);
	hash.update(readFileSync(join(root, 'node_modules/pnpm/package.json')));
	const tag = hash.digest('hex').slice(0, 16);
	const base = `localhost/spock-base:${tag}`;
	const buildBase = `localhost/spock-build-base:${tag}`;
	const isThere = (name) => engine.podman(['image', 'exists', name], { mayFail: true }).status === 0;
	if (!isThere(base)) imageFrom(engine, base, (rootfs) => copyRuntime(rootfs, node));
	if (!isThere(buildBase)) {
		imageFrom(engine, buildBase, (rootfs) => {
			copyRuntime(rootfs, node);
			copyBuildTools(rootfs);
		});
	}
	return { base, buildBase };
}
