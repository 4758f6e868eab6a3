// What the components of k8s/ add to a pod, as data for the templates of the charts: so that the sidecar is written down once. Each
// component is rendered by kustomize on top of components/sidecar, and what it has added is taken.
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { isDeepStrictEqual } from 'node:util';

import { parseAllDocuments, stringify } from 'yaml';

import { render } from '../render-manifests.js';

/** Those that a value of a chart switches on, in the order in which a kustomization lists them. */
export const OPTIONAL = [
	'consul-agent-on-node',
	'consul-servers-tls-acl',
	'consul-token',
	'spock-on-node',
	'state-directory',
	'events',
	'events-volume-claim',
	'grpc',
	'prometheus-annotations',
	'admin-on-loopback',
	'ready-without-sidecar',
	'start-without-registry',
];
const PROBES = ['startupProbe', 'livenessProbe', 'readinessProbe'];

const WORKLOAD = {
	apiVersion: 'apps/v1',
	kind: 'StatefulSet',
	metadata: { name: 'any' },
	spec: { template: { spec: { containers: [{ name: 'app', image: 'app' }] } } },
};

/** What components/sidecar gives a pod, and by its name what each optional component adds to that. */
export function sidecarComponents(directory, tools) {
	const base = renderWorkload(directory, ['sidecar'], tools);
	const { metadata, spec } = base.template;
	const [{ volumeMounts }] = spec.containers;
	const sidecar = {
		labels: metadata.labels,
		podSecurityContext: spec.securityContext,
		container: sidecarOf(spec),
		volumes: spec.volumes,
		appVolumeMounts: volumeMounts,
	};
	const added = OPTIONAL.map((name) => [name, addedBy(renderWorkload(directory, ['sidecar', name], tools), base)]);
	return { sidecar, ...Object.fromEntries(added) };
}

/** The same for the Spock of a node; and `objects`, by their kinds, what stands around its container. */
export function nodeComponents(directory, tools) {
	const {
		sidecar: _,
		events,
		'events-volume-claim': claim,
		grpc,
		'spock-on-node': onNode,
		'ready-without-sidecar': _ready,
		'start-without-registry': _start,
		'admin-on-loopback': _admin,
		...optional
	} = sidecarComponents(directory, tools);
	const parts = { resources: ['node'], components: ['sidecar', 'node', 'pod-monitor'] };
	const documents = renderKustomization(directory, parts, tools);
	const objects = Object.fromEntries(documents.map((document) => [document.kind, document]));
	const { metadata, spec } = objects.DaemonSet.spec.template;
	const sidecar = { labels: metadata.labels, container: sidecarOf(spec), volumes: spec.volumes };
	spec.containers = [];
	spec.volumes = [];
	// That of all pods with a sidecar, for those of the node alone.
	objects.PodMonitor.metadata.name = objects.DaemonSet.metadata.name;
	objects.PodMonitor.spec.selector = objects.DaemonSet.spec.selector;
	return { components: { sidecar, ...optional }, objects };
}

function sidecarOf({ initContainers = [], containers }) {
	return [...initContainers, ...containers].find(({ name }) => name === 'sidecar');
}

function addedBy(workload, base) {
	const [own, other] = [sidecarOf(workload.template.spec), sidecarOf(base.template.spec)];
	const added = {
		env: without(own.env, other.env),
		changed: own.env.filter((one) =>
			other.env.some((before) => before.name === one.name && !isDeepStrictEqual(before, one)),
		),
		probes: probesBeside(own, other),
		volumeMounts: without(own.volumeMounts, other.volumeMounts),
		volumes: without(workload.template.spec.volumes, base.template.spec.volumes),
		annotations: workload.template.metadata.annotations,
		volumeClaimTemplates: workload.volumeClaimTemplates,
	};
	return Object.fromEntries(Object.entries(added).filter(([, value]) => value !== undefined && value.length !== 0));
}

/** The probes that differ, null for one that was taken away; undefined where none does. */
function probesBeside(own, other) {
	const changed = PROBES.filter((name) => !isDeepStrictEqual(own[name], other[name]));
	return changed.length === 0 ? undefined : Object.fromEntries(changed.map((name) => [name, own[name] ?? null]));
}

function without(list, others) {
	return list.filter(({ name }) => !others.some((other) => other.name === name));
}

function renderWorkload(directory, components, tools) {
	return renderKustomization(directory, { components }, tools).find(({ kind }) => kind === WORKLOAD.kind).spec;
}

/** Of things of k8s/, by their names in there; with the workload where there are no resources. */
function renderKustomization(directory, { resources, components }, tools) {
	// Kustomize takes relative paths alone.
	const scratch = realpathSync(mkdtempSync(join(tmpdir(), 'spock-charts-')));
	const to = (name) => relative(scratch, join(realpathSync(directory), name));
	try {
		writeFileSync(join(scratch, 'workload.yaml'), stringify(WORKLOAD));
		const kustomization = {
			resources: resources?.map(to) ?? ['workload.yaml'],
			components: components.map((name) => to(`components/${name}`)),
		};
		writeFileSync(join(scratch, 'kustomization.yaml'), stringify(kustomization));
		return parseAllDocuments(render(scratch, tools)).map((document) => document.toJS());
	} finally {
		rmSync(scratch, { recursive: true, force: true });
	}
}
