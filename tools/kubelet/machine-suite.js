// A suite on a machine of its own, with what it needs of Kubernetes and with the manifests of k8s/ as kustomize renders them.
import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { ensureManifestTools } from '../kubernetes/manifest-tools.js';
import { render, renderings } from '../kubernetes/render-manifests.js';
import { fail, root, run } from '../prepare.js';
import { runSuite } from '../run-suite.js';

/** Runs one project of vitest there, with variables for its tests. Gives the exit code; ends the process for want of something. */
export function runOnMachine(project, args, variables = {}) {
	if (process.platform !== 'linux' || process.getuid() !== 0)
		fail('this takes Linux and root: it makes a machine of namespaces', 2);
	for (const [program, debianPackage] of [
		['unshare', 'util-linux'],
		['ip', 'iproute2'],
		['tar', 'tar'],
	]) {
		if (spawnSync(program, ['--version']).error !== undefined)
			fail(`${program} is missing: install ${debianPackage}`, 2);
	}
	const kubernetes = lastLine('bash', [join(root, 'tools/kubelet/build.sh')]);
	const rendered = join(root, 'reports/rendered');
	rmSync(rendered, { recursive: true, force: true });
	mkdirSync(rendered, { recursive: true });
	const tools = ensureManifestTools([]);
	for (const { name, path } of renderings(join(root, 'k8s'))) {
		writeFileSync(join(rendered, `${name.replace('.yaml', '')}.yaml`), render(path, tools));
	}
	const within = [join(root, 'tools/kubelet/machine.sh')];
	return runSuite(project, args, { ...variables, SPOCK_KUBERNETES: kubernetes, SPOCK_RENDERED: rendered }, within);
}

/** What a command prints last; the rest of what it says is shown while it runs. */
export function lastLine(command, args) {
	return run(command, args, { stdio: ['ignore', 'pipe', 'inherit'] })
		.stdout.trim()
		.split('\n')
		.at(-1);
}
