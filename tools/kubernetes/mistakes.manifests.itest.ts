import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { ensureManifestTools } from './manifest-tools.js';
import { KUBERNETES_VERSIONS, problemsOf, render } from './render-manifests.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
let copy: string;

beforeEach(() => {
	copy = mkdtempSync(join(tmpdir(), 'spock-manifests-'));
	// Without the charts, which are made of the rest.
	cpSync(join(root, 'k8s'), copy, { recursive: true, filter: (path) => path !== join(root, 'k8s/charts') });
});

afterEach(() => {
	rmSync(copy, { recursive: true, force: true });
});

function plant(file: string, from: string, to: string): void {
	const path = join(copy, file);
	const text = readFileSync(path, 'utf8');
	expect(text).toContain(from);
	writeFileSync(path, text.replace(from, to));
}

function check(): { readonly status: number | null; readonly output: string } {
	const args = [join(root, 'tools/manifests.js'), '--from', copy];
	const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
	return { status, output: stdout + stderr };
}

describe('the check of the manifests', () => {
	it('passes them as they are', () => {
		const { status, output } = check();
		expect(output).not.toContain('wrong');
		expect(status).toBe(0);
	});

	it.each([
		[
			'a misspelt field of the sidecar',
			'components/sidecar/sidecar.yaml',
			'failureThreshold: 300',
			'failureTreshold: 300',
			/'failureTreshold' not allowed/,
		],
		[
			'a misspelt field of the app',
			'base/deployment.yaml',
			'readOnlyRootFilesystem',
			'readOnlyRootFileSystem',
			/'readOnlyRootFileSystem' not allowed/,
		],
		[
			'a number where a text must be',
			'components/sidecar/sidecar.yaml',
			'"25000"',
			'25000',
			/env\/\d+\/value': got number, want string/,
		],
		[
			'a kind that there is not',
			'base/pod-disruption-budget.yaml',
			'kind: PodDisruptionBudget',
			'kind: PodDisruptionBudgets',
			/could not find schema/,
		],
		[
			'a misspelt field of a custom resource',
			'components/pod-monitor/pod-monitor.yaml',
			'scrapeTimeout',
			'scrapeTimeOut',
			/'scrapeTimeOut' not allowed/,
		],
		[
			'a misspelt field of the injector',
			'injector/policy.yaml',
			'failurePolicy',
			'failPolicy',
			/'failPolicy' not allowed/,
		],
		[
			'a patch that does not fit',
			'components/without-native-sidecars/kustomization.yaml',
			'value: sidecar',
			'value: other',
			/test(ing)? .*failed|failed/,
		],
		['a file that is not there', 'base/kustomization.yaml', 'deployment.yaml', 'deployments.yaml', /deployments\.yaml/],
	])('refuses %s', (_, file, from, to, said) => {
		plant(file, from, to);
		const { status, output } = check();
		expect(output).toMatch(said);
		expect(status).toBe(1);
	});

	it('refuses a native sidecar where the cluster does not know any', () => {
		const tools = ensureManifestTools(KUBERNETES_VERSIONS);
		const file = join(copy, 'native.yaml');
		writeFileSync(file, render(join(copy, 'overlays/consul-agent-on-node'), tools));
		const [oldest, oldestWithNativeSidecars] = KUBERNETES_VERSIONS;
		expect(problemsOf(file, oldest, tools).join()).toContain("'restartPolicy' not allowed");
		expect(problemsOf(file, oldestWithNativeSidecars, tools)).toEqual([]);
	});
});
