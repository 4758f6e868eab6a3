import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { resolveSettings } from '../../packages/sidecar/src/cli/settings/resolve-settings.ts';
import type { SettingName } from '../../packages/sidecar/src/cli/settings/settings.ts';
import { consulOptionsOf } from '../../packages/sidecar/src/cli/start/discovery-options.ts';
import { ensureManifestTools } from './manifest-tools.js';
import { type Manifest, type Pod, sidecarOf } from './pod.ts';
import { KUBERNETES_VERSIONS, render } from './render-manifests.js';

const tools = ensureManifestTools(KUBERNETES_VERSIONS);

/** What a cluster fills in. */
const FIELDS: Readonly<Record<string, string>> = {
	'status.hostIP': '192.0.2.1',
	'status.podIP': '198.51.100.7',
	'metadata.name': 'barista-app-1',
	'metadata.namespace': 'cafe',
	'metadata.uid': 'a-b-c',
	'spec.nodeName': 'node-1',
	"metadata.labels['topology.kubernetes.io/zone']": 'eu-1a',
};

/** The environment of the sidecar's process, as the kubelet makes it. */
function environmentOf(overlay: string): Record<string, string> {
	const path = fileURLToPath(new URL(`../../k8s/overlays/${overlay}`, import.meta.url));
	const documents = parseAllDocuments(render(path, tools)).map((document) => document.toJS() as Manifest);
	const workload = documents.find(({ kind }) => kind === 'Deployment' || kind === 'DaemonSet');
	const pod = workload?.spec.template as Pod;
	const made: Record<string, string> = {};
	for (const { name, value, valueFrom } of sidecarOf(pod)?.env ?? []) {
		const given = value ?? FIELDS[valueFrom?.fieldRef?.fieldPath ?? ''] ?? '';
		// What is not known stays as it stands there: https://kubernetes.io/docs/tasks/inject-data-application/define-interdependent-environment-variables/
		made[name] = given.replace(/\$\((\w+)\)/g, (whole, reference) => made[reference] ?? whole);
	}
	return made;
}

function read(overlay: string) {
	const env = environmentOf(overlay);
	const settings = resolveSettings({ flags: {}, env });
	const setting = (name: SettingName) => settings[name].value;
	return { consul: consulOptionsOf(settings, env), setting };
}

describe('what the sidecar reads of an overlay', () => {
	it.each(['consul-agent-on-node', 'monitored', 'without-native-sidecars'])('%s: the agent of its node', (overlay) => {
		const { consul, setting } = read(overlay);
		expect(consul).toEqual({ addresses: ['http://192.0.2.1:8500'] });
		expect(setting('advertise')).toBe('198.51.100.7');
		expect(setting('owner')).toBe('a-b-c');
		expect(setting('zone')).toBe('eu-1a');
		expect(setting('admin')).toBe('[::]:9464');
		expect(setting('drainTimeoutMs')).toBe(25_000);
		expect(setting('outputTotalBytesMax')).toBe(64 * 2 ** 20);
		expect(setting('stateDir')).toBe(overlay === 'monitored' ? '/var/lib/spock/state' : undefined);
	});

	it('consul-servers-tls-acl: three servers, TLS, and a login', () => {
		const server = (index: number) => `https://consul-server-${index}.consul-server.consul.svc:8501`;
		expect(read('consul-servers-tls-acl').consul).toEqual({
			addresses: [server(0), server(1), server(2)],
			tls: { caFile: '/etc/consul/ca/tls.crt', serverName: 'server.dc1.consul' },
			login: {
				method: 'spock',
				tokenFile: '/var/run/secrets/consul-login/token',
				meta: { pod: 'cafe/barista-app-1' },
			},
		});
	});

	it('spock-on-node: the Spock of the node with the token of the app, and the three servers while that is away', () => {
		const { consul, setting } = read('spock-on-node');
		expect(setting('backend')).toEqual(['spock', 'consul']);
		expect(setting('upstream')).toEqual(['tls://spock-node.spock.svc:7777']);
		expect([setting('upstreamCa'), setting('upstreamTokenFile')]).toEqual([
			'/etc/spock/node/ca.crt',
			'/etc/spock/node/token',
		]);
		expect(consul).toEqual(read('consul-servers-tls-acl').consul);
	});

	it('node: where it listens, for whom, and whose registrations it keeps', () => {
		const { consul, setting } = read('node');
		expect(consul).toMatchObject({ login: { method: 'spock' } });
		expect(setting('listen')).toBe('tls://[::]:7777');
		expect([setting('tlsCert'), setting('tlsKey'), setting('tokenFile')]).toEqual([
			'/etc/spock/tls/tls.crt',
			'/etc/spock/tls/tls.key',
			'/etc/spock/tokens/tokens',
		]);
		expect(setting('registrationsNamedOnly')).toBe(true);
		expect([setting('advertise'), setting('owner')]).toEqual([undefined, 'node-1']);
		expect(setting('zone')).toBe('eu-1a');
	});

	it('node-socket: only at the socket, for clients with a token, in the place of the one before', () => {
		const { consul, setting } = read('node-socket');
		expect(consul).toEqual(read('node').consul);
		expect([setting('socket'), setting('listen')]).toEqual(['/uds/sidecar.sock', undefined]);
		expect([setting('tokenFile'), setting('tokenOnSocket')]).toEqual(['/etc/spock/tokens/tokens', true]);
		expect([setting('takeOver'), setting('stayWhenReplaced')]).toEqual([true, true]);
		expect([setting('advertise'), setting('owner')]).toEqual([undefined, 'node-1']);
	});
});
