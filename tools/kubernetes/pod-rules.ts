import { settings } from '../../packages/sidecar/src/cli/settings/settings.ts';
import { appOf, bytesOf, type Container, type Pod, type SecurityContext, sidecarOf, variable } from './pod.ts';

const SOCKET_DIRECTORY = '/uds';
/** What the process takes at most beside unread output; at rest it is 72 MB. */
const MEMORY_BYTES = 128 * 2 ** 20;
const GRACE_SECONDS_DEFAULT = 30;
/** Leave to serve the admin port to other machines. Older sidecars serve it without, and do not know it. */
const ADMIN_ANY = 'SPOCK_ADMIN_ANY';
/** Variables that the sidecar knows beside those of its table of settings. */
const CONSUL_VARIABLES = ['CONSUL_CACERT', 'CONSUL_CAPATH', 'CONSUL_CLIENT_CERT', 'CONSUL_CLIENT_KEY'].concat([
	'CONSUL_TLS_SERVER_NAME',
	'CONSUL_HTTP_SSL',
	'CONSUL_HTTP_SSL_VERIFY',
]);

/** What a pod is checked against. */
export interface PodExpectation {
	/** Whether the sidecar is a native one. */
	readonly isNative: boolean;
	/** Whether the app is ours to write: then it keeps the rules of Pod Security "restricted" too. */
	readonly isAppOurs: boolean;
	/** Volumes that a StatefulSet claims for each of its pods. Default: none. */
	readonly claims?: readonly string[];
}

/** The rules that a pod with a sidecar breaks, each in a sentence; empty if it keeps them all. */
export function brokenRules(pod: Pod, expected: PodExpectation): string[] {
	const [sidecar, app] = [sidecarOf(pod), appOf(pod)];
	if (sidecar === undefined || app === undefined) return ['there is no sidecar, or no app'];
	return [
		...placeRules(pod, sidecar, expected),
		...containerRules(pod, sidecar),
		...(expected.isAppOurs ? containerRules(pod, app) : []),
		...shareRules(pod, sidecar, app),
		...probeRules(sidecar),
		...endRules(pod, sidecar, app),
		...tokenRules(pod, sidecar, expected),
		...environmentRules(sidecar),
		...memoryRules(pod, sidecar),
		...volumeRules(pod, expected),
	];
}

/** The same for the Spock of a node, which has its pod for itself and is asked by others: over TLS, or at a socket in a directory of the node. */
export function brokenNodeRules(pod: Pod, by: 'tls' | 'socket' = 'tls'): string[] {
	const node = sidecarOf(pod);
	if (node === undefined) return ['there is no Spock'];
	return [
		...placeRules(pod, node, { isNative: false, isAppOurs: true }),
		...containerRules(pod, node),
		...sharedRules(pod, node),
		...(by === 'tls' ? listenRules(pod, node) : nodeSocketRules(pod, node)),
		...probeRules(node, by === 'tls' ? 'sidecar health' : '/readyz'),
		...endRules(pod, node, node),
		...tokenRules(pod, node, { isNative: false, isAppOurs: true }),
		...environmentRules(node),
		...memoryRules(pod, node),
	];
}

/** The sentences whose rule is broken. */
function broken(rules: Readonly<Record<string, boolean>>): string[] {
	return Object.entries(rules).flatMap(([sentence, isKept]) => (isKept ? [] : [sentence]));
}

function placeRules({ spec }: Pod, sidecar: Container, { isNative }: PodExpectation): string[] {
	return isNative
		? broken({
				'a native sidecar is the first init container': spec.initContainers?.[0] === sidecar,
				'a native sidecar has restartPolicy Always': sidecar.restartPolicy === 'Always',
			})
		: broken({
				'without native sidecars it is an ordinary container': spec.containers.includes(sidecar),
				'an ordinary container has no restartPolicy': sidecar.restartPolicy === undefined,
			});
}

function volumeRules({ spec }: Pod, { claims = [] }: PodExpectation): string[] {
	const names = new Set([...(spec.volumes ?? []).map(({ name }) => name), ...claims]);
	const containers = [...(spec.initContainers ?? []), ...spec.containers];
	const mounts = containers.flatMap(({ volumeMounts = [] }) => volumeMounts);
	return broken(Object.fromEntries(mounts.map(({ name }) => [`the volume ${name} is there`, names.has(name)])));
}

/** What a container does not say, it has from its pod. */
function contextOf(spec: Pod['spec'], container: Container): SecurityContext {
	return { ...spec.securityContext, ...container.securityContext };
}

/** https://kubernetes.io/docs/concepts/security/pod-security-standards/#restricted, and a root file system that cannot be written. */
function containerRules({ spec }: Pod, container: Container): string[] {
	const context = contextOf(spec, container);
	const { capabilities } = context;
	return broken({
		[`${container.name} is not root`]: context.runAsNonRoot === true && (context.runAsUser ?? 0) > 0,
		[`${container.name} cannot write to its root`]: context.readOnlyRootFilesystem === true,
		[`${container.name} gains no privileges`]: context.allowPrivilegeEscalation === false,
		[`${container.name} has no capabilities`]:
			capabilities?.drop?.includes('ALL') === true && capabilities.add === undefined,
		[`${container.name} has the seccomp profile`]: context.seccompProfile?.type === 'RuntimeDefault',
		[`${container.name} has requests and a limit of memory`]:
			container.resources?.requests?.['cpu'] !== undefined &&
			container.resources.requests['memory'] !== undefined &&
			container.resources.limits?.['memory'] !== undefined,
	});
}

function socketOf(container: Container): string {
	return variable(container, 'SPOCK_SOCKET') ?? `${SOCKET_DIRECTORY}/sidecar.sock`;
}

function shareRules({ spec }: Pod, sidecar: Container, app: Container): string[] {
	const directory = socketOf(sidecar).replace(/\/[^/]*$/, '');
	const mounts = [sidecar, app].map(({ volumeMounts }) =>
		volumeMounts?.find(({ mountPath }) => mountPath === directory),
	);
	const [own, ofApp] = mounts;
	const volume = spec.volumes?.find(({ name }) => name === own?.name);
	const users = [sidecar, app].map((container) => contextOf(spec, container).runAsUser);
	return broken({
		'both look for the socket at one path': socketOf(sidecar) === socketOf(app),
		'both mount one volume where the socket is': own !== undefined && own.name === ofApp?.name,
		'the volume is in memory and bounded':
			volume?.emptyDir?.medium === 'Memory' && bytesOf(volume.emptyDir.sizeLimit) <= 16 * 2 ** 20,
		'the sidecar can write to the volume': own?.readOnly !== true,
		'the app cannot replace the socket': ofApp?.readOnly === true,
		'app and sidecar are different users': users[0] !== users[1],
		'app and sidecar share a group': (spec.securityContext?.fsGroup ?? 0) > 0,
	});
}

/** Whether the file that a variable names is in a Secret, read-only, which the group of the pod can read. */
function isSecret({ spec }: Pod, node: Container, name: string): boolean {
	const mount = node.volumeMounts?.find(
		({ mountPath, readOnly }) => readOnly === true && variable(node, name)?.startsWith(`${mountPath}/`) === true,
	);
	return spec.volumes?.find((volume) => volume.name === mount?.name)?.secret?.defaultMode === 0o440;
}

function sharedRules(pod: Pod, node: Container): string[] {
	return broken({
		'the tokens are in a Secret, read-only, which its group can read': isSecret(pod, node, 'SPOCK_TOKEN_FILE'),
		'the commands in its pod find its socket': variable(node, 'SPOCK_SOCKET') === `${SOCKET_DIRECTORY}/sidecar.sock`,
		'only an app with a token of its own registers': variable(node, 'SPOCK_REGISTRATIONS_NAMED_ONLY') === 'true',
	});
}

function listenRules(pod: Pod, node: Container): string[] {
	const [, port] = /^tls:\/\/(?:0\.0\.0\.0|\[::\]):(\d+)$/.exec(variable(node, 'SPOCK_LISTEN') ?? '') ?? [];
	return broken({
		'it listens over TLS for other machines': port !== undefined && variable(node, 'SPOCK_LISTEN_ANY') === 'true',
		'the port spock is that of SPOCK_LISTEN':
			node.ports?.some(({ name, containerPort }) => name === 'spock' && String(containerPort) === port) === true,
		'certificate and key are in Secrets, read-only, which its group can read': [
			'SPOCK_TLS_CERT',
			'SPOCK_TLS_KEY',
		].every((name) => isSecret(pod, node, name)),
	});
}

function nodeSocketRules({ spec }: Pod, node: Container): string[] {
	const volume = spec.volumes?.find(({ hostPath }) => hostPath !== undefined);
	const [init, ...others] = spec.initContainers ?? [];
	const { runAsUser, runAsGroup } = contextOf(spec, node);
	const mountOf = (container: Container | undefined) =>
		container?.volumeMounts?.find(({ name }) => name === volume?.name)?.mountPath;
	const onlyOwner = init?.securityContext;
	return broken({
		'the socket is in a directory of the node, which the kubelet makes':
			volume?.hostPath?.type === 'DirectoryOrCreate' && mountOf(node) === SOCKET_DIRECTORY,
		'it listens nowhere else': variable(node, 'SPOCK_LISTEN') === undefined && node.ports?.length === 1,
		'the socket wants a token': variable(node, 'SPOCK_TOKEN_ON_SOCKET') === 'true',
		'the next one takes its place, and it is not started again then':
			variable(node, 'SPOCK_TAKE_OVER') === 'true' && variable(node, 'SPOCK_STAY_WHEN_REPLACED') === 'true',
		'the socket has the group of its pod': runAsGroup !== undefined && runAsGroup === spec.securityContext?.fsGroup,
		'one init container gives it the directory': others.length === 0 && mountOf(init) === SOCKET_DIRECTORY,
		'the directory is for its user and group':
			init?.command?.at(-1)?.includes(`, ${runAsUser}, ${runAsGroup})`) === true,
		'root may do that alone':
			onlyOwner?.readOnlyRootFilesystem === true &&
			onlyOwner.allowPrivilegeEscalation === false &&
			onlyOwner.seccompProfile?.type === 'RuntimeDefault' &&
			onlyOwner.capabilities?.drop?.includes('ALL') === true &&
			onlyOwner.capabilities.add?.join() === 'CHOWN',
	});
}

/** The rules that a pod without a sidecar breaks, whose app asks the Spock of its node at a socket. */
export function brokenNodeClientRules(pod: Pod, node: Pod): string[] {
	const app = appOf(pod);
	const spock = sidecarOf(node);
	if (app === undefined || spock === undefined) return ['there is no app, or no Spock'];
	const { spec } = pod;
	const { runAsUser, runAsGroup } = contextOf(node.spec, spock);
	const directory = (one: Pod): string | undefined =>
		one.spec.volumes?.find(({ hostPath }) => hostPath !== undefined)?.hostPath?.path;
	const volume = spec.volumes?.find(({ hostPath }) => hostPath !== undefined);
	const mount = app.volumeMounts?.find(({ name }) => name === volume?.name);
	const mounts = [...(spec.initContainers ?? []), ...spec.containers].flatMap(({ volumeMounts = [] }) =>
		volumeMounts.filter(({ name }) => name === volume?.name),
	);
	return [
		...containerRules(pod, app),
		...broken({
			'there is no sidecar': sidecarOf(pod) === undefined && pod.metadata.labels?.['spock-sidecar'] === undefined,
			'the directory is that of the Spock': directory(pod) !== undefined && directory(pod) === directory(node),
			'the app finds the socket where that of a sidecar would be': mount?.mountPath === SOCKET_DIRECTORY,
			'the app cannot replace the socket': mounts.length > 0 && mounts.every(({ readOnly }) => readOnly === true),
			'the app is not the user of the Spock': contextOf(spec, app).runAsUser !== runAsUser,
			'the app has the group of the socket': runAsGroup !== undefined && spec.securityContext?.fsGroup === runAsGroup,
			'its token is in a Secret, read-only, which its group can read': isSecret(pod, app, 'APP_TOKEN_FILE'),
		}),
	];
}

/** Where others answer at its socket until it has taken that over, its own admin port is asked from the start. */
function probeRules(sidecar: Container, startup: 'sidecar health' | '/readyz' = 'sidecar health'): string[] {
	const { startupProbe, livenessProbe, readinessProbe } = sidecar;
	const [host, port] = (variable(sidecar, 'SPOCK_ADMIN') ?? '').split(/:(?=\d+$)/);
	const admin = sidecar.ports?.find(({ name }) => name === 'admin');
	return broken({
		[`the app waits for \`${startup}\``]:
			(startupProbe?.exec?.command.join(' ') ?? startupProbe?.httpGet?.path) === startup,
		'liveness asks /livez, which never depends on Consul':
			livenessProbe?.httpGet?.path === '/livez' && livenessProbe.httpGet.port === 'admin',
		'readiness asks /readyz': readinessProbe?.httpGet?.path === '/readyz' && readinessProbe.httpGet.port === 'admin',
		'the port admin is that of SPOCK_ADMIN': admin !== undefined && String(admin.containerPort) === port,
		'the kubelet may reach the admin port': variable(sidecar, ADMIN_ANY) === 'true',
		'the kubelet reaches the admin port': host !== undefined && !/^(127\.|localhost$|\[?::1)/.test(host) && host !== '',
	});
}

function endRules({ spec }: Pod, sidecar: Container, app: Container): string[] {
	const graceSeconds = spec.terminationGracePeriodSeconds ?? GRACE_SECONDS_DEFAULT;
	const drainSeconds = Number(variable(sidecar, 'SPOCK_DRAIN_TIMEOUT_MS')) / 1000;
	const preStopSeconds = app.lifecycle?.preStop?.sleep?.seconds ?? 0;
	return broken({
		'the grace period is preStop, the longest drain, and 5 s': graceSeconds >= preStopSeconds + drainSeconds + 5,
		'the sidecar has no preStop: it would run when the pod begins to end': sidecar.lifecycle?.preStop === undefined,
	});
}

function tokenRules({ spec }: Pod, sidecar: Container, { isAppOurs }: PodExpectation): string[] {
	const hasLogin = variable(sidecar, 'SPOCK_CONSUL_LOGIN_METHOD') !== undefined;
	const tokens = (spec.volumes ?? []).filter(({ projected }) =>
		projected?.sources.some(({ serviceAccountToken }) => serviceAccountToken !== undefined),
	);
	const mounting = (name: string | undefined): Container[] =>
		[...(spec.initContainers ?? []), ...spec.containers].filter((container) =>
			container.volumeMounts?.some((mount) => mount.name === name),
		);
	const tokenFile = variable(sidecar, 'SPOCK_CONSUL_LOGIN_TOKEN_FILE') ?? '';
	const mount = sidecar.volumeMounts?.find(({ name }) => name === tokens[0]?.name);
	return broken({
		'no token of the service account is mounted unasked': !isAppOurs || spec.automountServiceAccountToken === false,
		'a token of the service account is there for a login, and only for one': tokens.length === (hasLogin ? 1 : 0),
		'the token is read-only, where the sidecar reads it':
			!hasLogin || (mount?.readOnly === true && tokenFile.startsWith(`${mount.mountPath}/`)),
		'the sidecar alone has the token': !hasLogin || mounting(tokens[0]?.name).every((one) => one === sidecar),
	});
}

function environmentRules(sidecar: Container): string[] {
	const known = new Set([...settings.map(({ variable }) => variable), ...CONSUL_VARIABLES, ADMIN_ANY]);
	const env = sidecar.env ?? [];
	const used = (name: string): boolean => env.some(({ value }) => value?.includes(`$(${name})`) === true);
	return env.flatMap(({ name, value }, index) => {
		const before = env.slice(0, index).map((other) => other.name);
		const references = [...(value ?? '').matchAll(/\$\(([^)]+)\)/g)].map(([, reference]) => reference ?? '');
		return broken({
			[`${name} is given once`]: !before.includes(name),
			[`${name} is a setting, or part of one`]: known.has(name) || used(name),
			[`${name} is made of what stands before it`]: references.every((reference) => before.includes(reference)),
		});
	});
}

function memoryRules({ spec }: Pod, sidecar: Container): string[] {
	const volume = spec.volumes?.find(({ name }) => name === 'uds');
	// A directory of the node is not in the pod's memory.
	const socketBytes = volume?.hostPath === undefined ? bytesOf(volume?.emptyDir?.sizeLimit) : 0;
	const unreadBytes = Number(variable(sidecar, 'SPOCK_OUTPUT_TOTAL_BYTES_MAX'));
	return broken({
		'unread output and the volume fit into the limit of memory':
			bytesOf(sidecar.resources?.limits?.['memory']) >= MEMORY_BYTES + socketBytes + unreadBytes,
	});
}
