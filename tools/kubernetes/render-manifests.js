// What of k8s/ is rendered, and for which versions of Kubernetes it is promised.
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';

import { runTool } from './manifest-tools.js';

const OLDEST = '1.27.16';
const OLDEST_WITH_NATIVE_SIDECARS = '1.29.15';
const NEWEST = '1.34.4';

/** Every version that some manifest is checked against. */
export const KUBERNETES_VERSIONS = [OLDEST, OLDEST_WITH_NATIVE_SIDECARS, NEWEST];

/** The charts that can be installed: the third is a library. */
const CHARTS = ['barista-app', 'spock-node'];

/** What is for older clusters than native sidecars need, or for newer ones. */
const VERSIONS_OF = {
	'without-native-sidecars': [OLDEST, NEWEST],
	node: [OLDEST, NEWEST],
	'node-socket': [OLDEST, NEWEST],
	'spock-on-node-socket': [OLDEST, NEWEST],
	'chart-spock-node': [OLDEST, NEWEST],
	injector: [NEWEST],
};

/** Everything in a directory such as k8s/ that can be applied: each overlay and chart, what can be taken alone, and the pod to read. */
export function renderings(directory) {
	const overlays = readdirSync(join(directory, 'overlays')).map((name) => ({
		name,
		path: join(directory, 'overlays', name),
	}));
	const alone = ['base', 'injector', 'pod.yaml', 'consul/token-reviewer.yaml'].map((name) => ({
		name: basename(name),
		path: join(directory, name),
	}));
	const charts = CHARTS.map((name) => ({ name: `chart-${name}`, path: join(directory, 'charts', name) })).filter(
		({ path }) => existsSync(path),
	);
	return [...alone, ...overlays, ...charts].map((rendering) => ({
		...rendering,
		versions: VERSIONS_OF[rendering.name] ?? [OLDEST_WITH_NATIVE_SIDECARS, NEWEST],
	}));
}

/** The manifests of a file, of a chart, or of a directory with a kustomization, as YAML. Throws what kustomize or Helm says is wrong. */
export function render(path, tools) {
	if (path.endsWith('.yaml')) return readFileSync(path, 'utf8');
	if (existsSync(join(path, 'Chart.yaml'))) return renderChart(path, tools);
	return runTool(tools.kustomize, ['build', path]);
}

/** A chart with its neighbours as dependencies; `args` go to `helm template`. The release is called as the chart is. */
export function renderChart(path, tools, args = []) {
	return withCharts(dirname(path), tools, (helm) =>
		helm(['template', basename(path), basename(path), '--kube-version', NEWEST, ...args]),
	);
}

/** Calls `work` with a function that runs Helm in a copy of a directory of charts, where their dependencies are in place. */
export function withCharts(directory, tools, work) {
	const scratch = mkdtempSync(join(tmpdir(), 'spock-helm-'));
	const places = ['CACHE', 'CONFIG', 'DATA'].map((name) => [`HELM_${name}_HOME`, join(scratch, `.${name}`)]);
	const env = { ...process.env, ...Object.fromEntries(places) };
	const helm = (args) => runTool(tools.helm, args, { cwd: scratch, env });
	try {
		cpSync(directory, scratch, { recursive: true });
		for (const name of readdirSync(directory)) {
			const chart = readFileSync(join(directory, name, 'Chart.yaml'), 'utf8');
			if (chart.includes('\ndependencies:')) helm(['dependency', 'update', '--skip-refresh', name]);
		}
		return work(helm);
	} finally {
		rmSync(scratch, { recursive: true, force: true });
	}
}

/**
 * What is wrong with the manifests of a file by the API of one version of Kubernetes; empty if nothing is. Strict: what the API
 * does not know, or what stands there twice, is wrong.
 */
export function problemsOf(file, version, tools) {
	const location = ['-schema-location', tools.schemas, '-kubernetes-version', version];
	const { status, stdout, stderr } = spawnSync(tools.kubeconform, ['-strict', '-output', 'json', ...location, file], {
		encoding: 'utf8',
	});
	// It ends with 1 for a manifest that is wrong, and for its own failures too.
	if (stdout === '') throw new Error(`${tools.kubeconform} ended with ${status}: ${stderr}`);
	const { resources = [] } = JSON.parse(stdout);
	if (status !== 0 && resources.length === 0) throw new Error(`${tools.kubeconform} ended with ${status}: ${stdout}`);
	return resources.map(({ kind, name, msg }) => `${kind} ${name}: ${placesIn(msg)}`);
}

/** `at '/spec': additional properties 'replica' not allowed; …` out of a message; the whole of it where it names no place. */
function placesIn(message) {
	const [, ...places] = message.split(/\s+- (?=at ')/);
	const telling = places.filter((place) => !place.endsWith(': validation failed'));
	return telling.length === 0 ? message : telling.map((place) => place.trim()).join('; ');
}
