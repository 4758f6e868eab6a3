// What renders and checks the manifests: kustomize, Helm and kubeconform, built once from the Go module proxy, and the schemas of every
// version of Kubernetes that is promised. All of it is kept outside the checkout, in $SPOCK_CACHE_DIR or ~/.cache/spock.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';

import { schemasOfApi, schemasOfCustomResource } from './strict-schemas.js';

const KUSTOMIZE = 'sigs.k8s.io/kustomize/kustomize/v5@v5.8.1';
/** The one in kubectl 1.27, for `kubectl apply -k`. */
const KUSTOMIZE_OLDEST = 'sigs.k8s.io/kustomize/kustomize/v5@v5.0.1';
const HELM = 'helm.sh/helm/v3/cmd/helm@v3.19.5';
const KUBECONFORM = 'github.com/yannh/kubeconform/cmd/kubeconform@v0.7.0';
/** Reads compose files as Docker's own Compose does: it is made of the same code. */
const COMPOSE = 'github.com/compose-spec/compose-go/v2/cmd@v2.16.2';
const PROMETHEUS_OPERATOR = 'github.com/prometheus-operator/prometheus-operator@v0.85.0';
const POD_MONITORS = 'example/prometheus-operator-crd/monitoring.coreos.com_podmonitors.yaml';
/** What server-side apply goes by, which the injector's test does too. */
const OPEN_API_PODS = 'api/openapi-spec/v3/api__v1_openapi.json';
const OPEN_API = 'openapi-v3';
const SWAGGER = 'api/openapi-spec/swagger.json';

const here = dirname(fileURLToPath(import.meta.url));
const cache = process.env.SPOCK_CACHE_DIR || join(homedir(), '.cache/spock');

/** Runs a command to its end and gives what it printed. Throws what it said if it fails. */
export function runTool(command, args, options = {}) {
	const result = spawnSync(command, args, { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024, ...options });
	if (result.error !== undefined) throw new Error(`could not run ${command}: ${result.error.message}`);
	if (result.status !== 0) throw new Error(`${[command, ...args].join(' ')} failed:\n${result.stdout}${result.stderr}`);
	return result.stdout;
}

/**
 * Makes them if they are not there: half a minute for each version of Kubernetes, once.
 * @param kubernetesVersions versions such as `1.34.4`
 * @returns the paths of the programs, and where the schemas are, in the form that kubeconform takes
 */
export function ensureManifestTools(kubernetesVersions) {
	for (const version of kubernetesVersions) ensureSchemas(version);
	return {
		kustomize: ensureProgram('kustomize', KUSTOMIZE),
		kustomizeOldest: ensureProgram('kustomize', KUSTOMIZE_OLDEST),
		helm: ensureProgram('helm', HELM),
		kubeconform: ensureProgram('kubeconform', KUBECONFORM),
		schemas: `${schemaDirectory('{{.NormalizedKubernetesVersion}}')}/{{.ResourceKind}}{{.KindSuffix}}.json`,
	};
}

/** Another one when the rules change by which they are made, or where they come from. */
function schemaDirectory(version) {
	const hash = createHash('sha256').update(PROMETHEUS_OPERATOR).update(OPEN_API_PODS);
	const rules = hash
		.update(readFileSync(join(here, 'strict-schemas.js')))
		.digest('hex')
		.slice(0, 12);
	return join(cache, `kubernetes-schemas-${rules}`, version.replace(/^(?=\d)/, 'v'));
}

/** Makes what checks compose files, if it is not there: a quarter of a minute, once. Gives its path. */
export function ensureCompose() {
	return ensureProgram('compose', COMPOSE, 'cmd');
}

function ensureProgram(name, module, binary = name) {
	const path = join(cache, `${name}-${module.split('@v')[1]}`, binary);
	return ensureBuiltAt(path, module, (scratch) => go(['install', module], { GOBIN: scratch, CGO_ENABLED: '0' }));
}

/**
 * Makes what applies the injector's policy to pods as an API server does, if it is not there: two minutes, once.
 * @returns its path, and the directory that it wants, for a version whose schemas are there
 */
export function ensureInjector(version) {
	const source = join(here, 'injector');
	const hash = createHash('sha256');
	for (const name of ['go.mod', 'go.sum', 'main.go']) hash.update(readFileSync(join(source, name)));
	const path = join(cache, `injector-${hash.digest('hex').slice(0, 12)}`, 'injector');
	ensureBuiltAt(path, 'the code of the API server that applies the policy of the injector', (scratch) =>
		go(['build', '-buildvcs=false', '-o', join(scratch, 'injector'), '.'], { CGO_ENABLED: '0' }, source),
	);
	return { injector: path, openApi: join(schemaDirectory(version), OPEN_API) };
}

function ensureBuiltAt(path, what, build) {
	if (!existsSync(path)) {
		note(`building ${what} (once) …`);
		inScratch((scratch) => {
			build(scratch);
			moveIntoPlace(join(scratch, basename(path)), path);
		});
	}
	return path;
}

function ensureSchemas(version) {
	const target = schemaDirectory(version);
	if (existsSync(target)) return;
	note(`fetching what Kubernetes ${version} says of its API (once) …`);
	inScratch((scratch) => {
		const kubernetes = `k8s.io/kubernetes@v${version}`;
		const swagger = JSON.parse(readFromModule(kubernetes, SWAGGER, scratch));
		const podMonitors = parse(readFromModule(PROMETHEUS_OPERATOR, POD_MONITORS, scratch));
		const made = join(scratch, 'schemas');
		mkdirSync(join(made, OPEN_API), { recursive: true });
		writeFileSync(join(made, OPEN_API, basename(OPEN_API_PODS)), readFromModule(kubernetes, OPEN_API_PODS, scratch));
		for (const [name, schema] of [...schemasOfApi(swagger), ...schemasOfCustomResource(podMonitors)]) {
			writeFileSync(join(made, `${name}.json`), JSON.stringify(schema));
		}
		moveIntoPlace(made, target);
	});
}

/** A file of a Go module. The module is unpacked into the scratch directory: whole, it is a hundred megabytes. */
function readFromModule(module, path, scratch) {
	const env = { GOMODCACHE: join(scratch, 'modules'), GOFLAGS: '-modcacherw' };
	const { Dir } = JSON.parse(go(['mod', 'download', '-json', module], env, scratch));
	return readFileSync(join(Dir, path), 'utf8');
}

function go(args, env, cwd = here) {
	const toolchain = runTool('bash', [join(here, '../go-toolchain.sh')])
		.trim()
		.split('\n')
		.at(-1);
	const path = [toolchain, process.env.PATH].join(delimiter);
	return runTool('go', args, { cwd, env: { ...process.env, PATH: path, ...env } });
}

/** In one step, from the same file system: an interrupted run leaves nothing half, and two at once do not disturb each other. */
function moveIntoPlace(made, target) {
	mkdirSync(dirname(target), { recursive: true });
	try {
		renameSync(made, target);
	} catch (error) {
		// Somebody else was faster with the same.
		if (!existsSync(target)) throw error;
	}
}

function inScratch(work) {
	mkdirSync(cache, { recursive: true });
	const scratch = mkdtempSync(join(cache, '.making-'));
	try {
		work(scratch);
	} finally {
		rmSync(scratch, { recursive: true, force: true });
	}
}

function note(line) {
	process.stderr.write(`${line}\n`);
}
