// The values of the charts: each is described once, and its default is taken from the components, so that a chart without any value
// is what kustomize makes of them. values.yaml and values.schema.json are written from here.
import { stringify } from 'yaml';

const TEXT = { type: 'string' };
const NAME = { type: 'string', minLength: 1 };
const SWITCH = { type: 'boolean' };
const LIST_OF_OBJECTS = { type: 'array', items: { type: 'object' } };
const MAP = { type: 'object' };
const QUANTITIES = { type: 'object', additionalProperties: { type: ['string', 'number', 'null'] } };
const VARIABLES = {
	type: 'array',
	items: {
		type: 'object',
		required: ['name'],
		properties: { name: NAME, value: TEXT, valueFrom: MAP },
		additionalProperties: false,
	},
};

function variable(part, name) {
	return part.env.find((one) => one.name === name).value;
}

function volume(part, name) {
	return part.volumes.find((one) => one.name === name);
}

/** Rows of path, default, JSON schema, and a comment. */
function commonValues(components, consulKind) {
	const { sidecar, 'consul-agent-on-node': agent, 'consul-servers-tls-acl': servers } = components;
	const [, repository, tag] = /^(.*):([^:]+)$/.exec(sidecar.container.image);
	const { requests, limits } = sidecar.container.resources;
	return [
		['image.repository', repository, NAME, 'the image of the sidecar: yours, in your registry'],
		['image.tag', tag, NAME, ''],
		['image.pullPolicy', '', { enum: ['', 'Always', 'IfNotPresent', 'Never'] }, "empty: the cluster's default"],
		[
			'consul.kind',
			consulKind,
			{ enum: ['agent', 'servers', 'none'] },
			'`agent`: one on each node; `servers`: over TLS, with a login; `none`: what `env` says',
		],
		['consul.agent.address', variable(agent, 'CONSUL_HTTP_ADDR'), NAME, 'HOST_IP is the address of the node'],
		[
			'consul.servers.addresses',
			variable(servers, 'CONSUL_HTTP_ADDR').split(','),
			{ type: 'array', items: NAME, minItems: 1 },
			'one by one, and not their Service: registrations belong to the first',
		],
		[
			'consul.servers.caConfigMap',
			volume(servers, 'consul-ca').configMap.name,
			NAME,
			'with the authority of the servers in the key `tls.crt`',
		],
		['consul.servers.tlsServerName', variable(servers, 'CONSUL_TLS_SERVER_NAME'), NAME, 'server.DATACENTER.consul'],
		[
			'consul.servers.loginMethod',
			variable(servers, 'SPOCK_CONSUL_LOGIN_METHOD'),
			NAME,
			"Consul's auth method, in which the service account of the pod logs in",
		],
		[
			'consul.tokenSecret',
			'',
			TEXT,
			'the Secret with an ACL token in the key `token`, where there is no login; empty: no token',
		],
		['stateDirectory', false, SWITCH, "answers survive a restart of the sidecar's container"],
		['prometheusAnnotations', false, SWITCH, 'for a Prometheus that scrapes by annotations'],
		['resources.requests', requests, QUANTITIES, ''],
		['resources.limits', limits, QUANTITIES, ''],
		[
			'env',
			[],
			VARIABLES,
			"settings of the sidecar: name and value, or valueFrom; they win over the chart's own (docs/reference/settings.md)",
		],
	];
}

/** Those of the library, which an app's chart has under the name `spock`. */
export function sidecarValues(components) {
	const { 'spock-on-node': onNode } = components;
	return [
		...commonValues(components, 'agent'),
		[
			'spockOnNode.enabled',
			false,
			SWITCH,
			'the sidecar asks the Spock of its node, and Consul only while that one is away',
		],
		['spockOnNode.address', variable(onNode, 'SPOCK_UPSTREAM'), NAME, 'tls://spock-node.NAMESPACE.svc:7777'],
		[
			'spockOnNode.secret',
			volume(onNode, 'spock-node').secret.secretName,
			NAME,
			"the Secret with that one's authority in the key `ca.crt`, and the token of the app in the key `token`",
		],
		['native', true, SWITCH, 'a native sidecar, which needs Kubernetes 1.29; false: an ordinary container'],
		[
			'events',
			'none',
			{ enum: ['none', 'volume', 'claim'] },
			'`volume`: the log of events goes with the pod; `claim`: it outlives it, in a StatefulSet alone (k8s/README.md#helm)',
		],
		['grpc', false, SWITCH, 'gRPC at unix:/uds/grpc.sock, for apps in other languages'],
		[
			'adminReach',
			'pod',
			{ enum: ['pod', 'loopback'] },
			"the admin port has no password. `pod`: what reaches the pod reaches it, as the kubelet's probes and Prometheus must; restrict it with a NetworkPolicy (k8s/components/network-policy). `loopback`: only kubectl exec and port-forward; probes run commands, and Prometheus cannot scrape",
		],
		[
			'readyWithoutSidecar',
			false,
			SWITCH,
			'false: a pod whose sidecar is not ready leaves its Services, because its app looks up nothing new. true: it stays in them, for an app that can serve from what it knows',
		],
		[
			'startWithoutRegistry',
			false,
			SWITCH,
			'false: the app starts when the registry has answered; while Consul is down new pods wait, and a rollout replaces no pod that works. true: it starts with the sidecar, and its lookups fail until the registry answers',
		],
	];
}

/** Those of the chart with one Spock for each node. */
export function nodeValues({ components, objects }) {
	const { sidecar } = components;
	const { spec } = objects.DaemonSet.spec.template;
	return [
		...commonValues(components, 'servers'),
		[
			'tlsSecret',
			volume(sidecar, 'spock-tls').secret.secretName,
			NAME,
			'of type kubernetes.io/tls: a certificate for spock-node.NAMESPACE.svc, and its key',
		],
		[
			'tokensSecret',
			volume(sidecar, 'spock-tokens').secret.secretName,
			NAME,
			'whom it lets in, in the key `tokens`: a line NAME: TOKEN for each app, two during a rotation',
		],
		['networkPolicy', true, SWITCH, ''],
		['podMonitor', false, SWITCH, 'for the Prometheus operator'],
		['imagePullSecrets', [], LIST_OF_OBJECTS, ''],
		['nodeSelector', {}, MAP, ''],
		['tolerations', spec.tolerations, LIST_OF_OBJECTS, 'wherever pods run that ask it'],
		['priorityClassName', '', TEXT, ''],
	];
}

const COMMENT_WIDTH = 120;

/** A text in lines of at most so many characters; none for an empty one. */
function wrapped(text, width) {
	const lines = [];
	for (const word of text.split(' ').filter((one) => one !== '')) {
		const longer = `${lines.at(-1) ?? ''} ${word}`;
		if (lines.length > 0 && longer.length <= width) lines[lines.length - 1] = longer;
		else lines.push(word);
	}
	return lines;
}

/** values.yaml. */
export function valuesFile(rows, head) {
	const lines = [`# ${head}`];
	let open = [];
	for (const [path, value, , comment] of rows) {
		const parts = path.split('.');
		const shared = parts.findIndex((part, at) => part !== open[at]);
		const parents = parts.slice(0, -1);
		for (let at = shared; at < parents.length; at++) lines.push(`${'  '.repeat(at)}${parents[at]}:`);
		const indent = '  '.repeat(parents.length);
		lines.push(...wrapped(comment, COMMENT_WIDTH).map((line) => `${indent}# ${line}`));
		const text = stringify({ [parts.at(-1)]: value }, { lineWidth: 0 }).trimEnd();
		lines.push(...text.split('\n').map((line) => indent + line));
		open = parents;
	}
	return `${lines.join('\n')}\n`;
}

/** values.schema.json: what is not described is refused. */
export function valuesSchema(rows, head) {
	const object = () => ({ type: 'object', additionalProperties: false, properties: {} });
	const root = { $schema: 'http://json-schema.org/draft-07/schema#', title: head, ...object() };
	for (const [path, , schema, comment] of rows) {
		const parts = path.split('.');
		let parent = root;
		for (const part of parts.slice(0, -1)) {
			parent.properties[part] ??= object();
			parent = parent.properties[part];
		}
		parent.properties[parts.at(-1)] = { ...(comment !== '' && { description: comment }), ...schema };
	}
	// Helm gives it to every chart that is part of another one.
	root.properties.global = { type: 'object' };
	return `${JSON.stringify(root, null, 2)}\n`;
}
