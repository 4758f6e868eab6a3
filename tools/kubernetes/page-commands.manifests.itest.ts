import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterAll, describe, expect, it } from 'vitest';
import { parseAllDocuments, stringify } from 'yaml';

import { ensureManifestTools, runTool } from './manifest-tools.js';
import { type Container, type Manifest, type Pod, sidecarOf, templateOf, variable } from './pod.ts';
import { KUBERNETES_VERSIONS, render } from './render-manifests.js';

const tools = ensureManifestTools(KUBERNETES_VERSIONS);
const root = fileURLToPath(new URL('../../', import.meta.url));
/** A clone, in which the commands of the pages are run as they are typed. */
const clone = mkdtempSync(join(tmpdir(), 'spock-clone-'));
cpSync(join(root, 'k8s'), join(clone, 'k8s'), { recursive: true });
afterAll(() => rmSync(clone, { recursive: true, force: true }));

const page = (path: string): string => readFileSync(join(root, path), 'utf8');
const TEN_MINUTES = 'docs/guide/kubernetes-in-ten-minutes.md';
const README = 'k8s/README.md';

/** The first block of a language behind a text. */
function block(text: string, after: string, language: string): string {
	expect(text).toContain(after);
	const rest = text.slice(text.indexOf(after));
	return new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'ms').exec(rest)?.[1] ?? '';
}

/** Every command of the pages that begins with this program, in one line. */
function commandsOf(path: string, program: string): string[] {
	const blocks = [...page(path).matchAll(/^```sh\n(.*?)^```/gms)].map(([, code = '']) => code);
	const lines = blocks.join('').replaceAll('\\\n', ' ').split('\n');
	return lines.map((line) => line.replace(/\s#.*$/, '').trim()).filter((line) => line.startsWith(`${program} `));
}

function write(path: string, text: string): void {
	mkdirSync(dirname(join(clone, path)), { recursive: true });
	writeFileSync(join(clone, path), text);
}

const workload = {
	...{ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'mine' } },
	spec: {
		template: { metadata: { labels: { app: 'mine' } }, spec: { containers: [{ name: 'app', image: 'app:1' }] } },
	},
};

function sidecarIn(text: string): Container {
	const manifests = parseAllDocuments(text).map((document) => document.toJS() as Manifest);
	const found = manifests.find(({ kind }) => kind === 'Deployment' || kind === 'DaemonSet') as Manifest;
	return sidecarOf(templateOf(found) as Pod) as Container;
}

describe('the commands of the pages about Kubernetes', () => {
	write('my-app/deployment.yaml', stringify(workload));
	write('my-app/kustomization.yaml', block(page(TEN_MINUTES), '`kustomization.yaml`', 'yaml'));
	write('try/kustomization.yaml', block(page(README), '`try/kustomization.yaml`', 'yaml'));
	const kubectl = [TEN_MINUTES, README].flatMap((path) => commandsOf(path, 'kubectl'));
	const directories = kubectl.flatMap((line) => /\s-k (\S+)/.exec(line)?.[1] ?? []);
	const files = kubectl.flatMap((line) => /\s-f (\S+)/.exec(line)?.[1] ?? []);

	it.each([...new Set(directories)])('-k %s', (directory) => {
		const text = render(join(clone, directory), tools);
		expect(render(join(clone, directory), { ...tools, kustomize: tools.kustomizeOldest })).toBe(text);
		if (directory === 'k8s/injector') expect(text).toContain('MutatingAdmissionPolicy');
		else expect(sidecarIn(text).image).toMatch(/spock-sidecar:0\.1\.0$/);
	});

	it.each(files)('-f %s', (file) => {
		expect(parseAllDocuments(readFileSync(join(clone, file), 'utf8')).length).toBeGreaterThan(0);
	});

	it('the patch that sets a variable', () => {
		const patches = block(page(README), 'Every setting of the sidecar is an environment variable', 'yaml');
		const kustomization = readFileSync(join(clone, 'my-app/kustomization.yaml'), 'utf8');
		write('patched/deployment.yaml', stringify(workload));
		write('patched/kustomization.yaml', `${kustomization}${patches}`);
		expect(variable(sidecarIn(render(join(clone, 'patched'), tools)), 'SPOCK_LOG_LEVEL')).toBe('debug');
	});

	it('each file that a command takes was made by one before it, or the page has the reader save it', () => {
		for (const path of [TEN_MINUTES, README]) {
			const text = page(path);
			for (const line of commandsOf(path, 'kubectl').concat(commandsOf(path, 'consul'))) {
				const taken = [...line.matchAll(/--from-file=(?:[^=\s]+=)?(\S+)|@(\S+)|--(?:cert|key)=(\S+)/g)];
				for (const [, one, two, three] of taken) {
					const name = one ?? two ?? three ?? '';
					const before = text.slice(0, text.indexOf(line.slice(0, 40)));
					const isMade =
						before.includes(`> ${name}`) || before.includes(`-out ${name}`) || before.includes(`-keyout ${name}`);
					expect([name, isMade || before.includes(`\`${name}\``)]).toEqual([name, true]);
				}
			}
		}
	});

	it('helm, as typed: the chart of the page, and the one of the nodes', () => {
		const text = page(TEN_MINUTES);
		const head = 'apiVersion: v2\nname: my-chart\nversion: 0.1.0\n';
		write('my-chart/Chart.yaml', `${head}${block(text, '`Chart.yaml`', 'yaml')}`);
		const pod = stringify(workload.spec.template);
		write('my-chart/templates/_pod.tpl', `{{- define "mine.podTemplate" -}}\n${pod}{{- end -}}\n`);
		const spec = block(text, '`mine.podTemplate`', 'yaml');
		write(
			'my-chart/templates/deployment.yaml',
			`apiVersion: apps/v1\nkind: Deployment\nmetadata: { name: mine }\n${spec}`,
		);
		write('my-chart/values.yaml', block(text, '`values.yaml`', 'yaml'));
		const homes = ['CACHE', 'CONFIG', 'DATA'].map((name) => [`HELM_${name}_HOME`, join(clone, `.${name}`)]);
		const env = { ...process.env, ...Object.fromEntries(homes) };
		const run = (line: string): string => runTool(tools.helm, line.split(/\s+/).slice(1), { cwd: clone, env });
		const lines = [TEN_MINUTES, README].flatMap((path) => commandsOf(path, 'helm'));
		expect(lines).toHaveLength(3);
		for (const line of lines) {
			// Without a cluster a chart is rendered, and not installed.
			const made = run(line.replace('upgrade --install', `template --kube-version ${KUBERNETES_VERSIONS.at(-1)}`));
			if (!line.includes('dependency'))
				expect(sidecarIn(made).image).toMatch(/^registry\.example\/spock-sidecar:0\.1\.0$/);
		}
	});
});
