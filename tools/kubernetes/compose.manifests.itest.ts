import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';

import { ensureCompose, ensureManifestTools, runTool } from './manifest-tools.js';
import { KUBERNETES_VERSIONS, problemsOf } from './render-manifests.js';

const directory = fileURLToPath(new URL('../../examples/compose/', import.meta.url));

interface Service {
	readonly image: string;
	readonly user?: string;
	readonly read_only?: boolean;
	readonly depends_on?: Readonly<Record<string, object>>;
	readonly ports?: readonly { readonly host_ip?: string }[];
	readonly volumes?: readonly { readonly source: string; readonly target: string; readonly read_only?: boolean }[];
}

interface Composed {
	readonly services: Readonly<Record<string, Service>>;
	readonly volumes: Readonly<Record<string, object>>;
}

function composed(input?: string): Composed {
	const file = input === undefined ? 'compose.yaml' : '-';
	const text = runTool(ensureCompose(), ['-format', 'json', file], {
		cwd: directory,
		...(input !== undefined && { input }),
	});
	return JSON.parse(text);
}

describe('the compose file', () => {
	const { services, volumes } = composed();

	it.each(['barista', 'waiter'])('gives %s a sidecar, by a socket that it cannot replace', (name) => {
		const [app, sidecar] = [services[name], services[`${name}-sidecar`]];
		expect(Object.keys(app?.depends_on ?? {})).toEqual([`${name}-sidecar`]);
		expect(sidecar?.volumes).toMatchObject([{ source: `${name}-uds`, target: '/uds' }]);
		expect(sidecar?.volumes?.[0]?.read_only).not.toBe(true);
		expect(app?.volumes).toMatchObject([{ source: `${name}-uds`, target: '/uds', read_only: true }]);
		expect([app?.user, sidecar?.user]).toEqual(['10002:2000', '10001:2000']);
		for (const one of [app, sidecar]) expect(one?.read_only).toBe(true);
	});

	it('opens ports to this machine alone', () => {
		const ports = Object.values(services).flatMap((service) => service.ports ?? []);
		expect(ports.map(({ host_ip }) => host_ip)).toEqual(['127.0.0.1', '127.0.0.1', '127.0.0.1']);
	});

	it('names services and volumes that are there', () => {
		for (const { depends_on = {}, volumes: mounts = [] } of Object.values(services)) {
			expect(Object.keys(services)).toEqual(expect.arrayContaining(Object.keys(depends_on)));
			expect(Object.keys(volumes)).toEqual(expect.arrayContaining(mounts.map(({ source }) => source)));
		}
	});

	it('is checked: a misspelt field is refused', () => {
		const text = readFileSync(`${directory}compose.yaml`, 'utf8');
		expect(() => composed(text.replace('entrypoint: [waiter]', 'entrypoints: [waiter]'))).toThrow('entrypoints');
	});
});

it("the pod for podman fits Kubernetes' API", () => {
	const tools = ensureManifestTools(KUBERNETES_VERSIONS);
	expect(problemsOf(`${directory}pod.yaml`, KUBERNETES_VERSIONS[2], tools)).toEqual([]);
});
