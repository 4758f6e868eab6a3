import { readFileSync } from 'node:fs';

import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';

import type { Pod } from './pod.ts';
import { brokenRules } from './pod-rules.ts';

const text = readFileSync(new URL('../../k8s/pod.yaml', import.meta.url), 'utf8');
const rules = (yaml: string): string[] => brokenRules(parse(yaml) as Pod, { isNative: true, isAppOurs: true });
const sidecarOnly = text.indexOf('initContainers:');

/** The pod with one thing changed: in the whole, from the sidecar on, or from the app on. */
function planted(from: string | RegExp, to: string, start = 0): string {
	const changed = text.slice(0, start) + text.slice(start).replace(from, to);
	expect(changed, `nothing to change: ${from}`).not.toBe(text);
	return changed;
}

const app = text.indexOf('  containers:');

describe('the rules of a pod', () => {
	it('are kept by the pod of k8s/', () => {
		expect(rules(text)).toEqual([]);
	});

	it.each([
		['a sidecar that is an ordinary init container', 'restartPolicy: Always', '', 0, 'has restartPolicy Always'],
		['root', 'runAsNonRoot: true', 'runAsNonRoot: false', sidecarOnly, 'sidecar is not root'],
		['user 0', 'runAsUser: 10002', 'runAsUser: 0', app, 'app is not root'],
		['a writable root', 'readOnlyRootFilesystem: true', '', sidecarOnly, 'sidecar cannot write to its root'],
		['privileges', 'allowPrivilegeEscalation: false', '', app, 'app gains no privileges'],
		['capabilities', 'drop: ["ALL"]', 'drop: ["CHOWN"]', sidecarOnly, 'sidecar has no capabilities'],
		[
			'an added capability',
			'drop: ["ALL"]',
			'drop: ["ALL"]\n          add: ["SYS_PTRACE"]',
			app,
			'app has no capabilities',
		],
		['no seccomp profile', 'type: RuntimeDefault', 'type: Unconfined', sidecarOnly, 'sidecar has the seccomp profile'],
		['no limit', /limits:\n +memory: 256Mi/, '', 0, 'sidecar has requests and a limit of memory'],
		['one user for both', 'runAsUser: 10002', 'runAsUser: 10001', 0, 'are different users'],
		['no group', 'fsGroup: 2000', '', 0, 'share a group'],
		['a volume on a disk', 'medium: Memory', '', 0, 'in memory and bounded'],
		['a volume without an end', 'sizeLimit: 16Mi', '', 0, 'in memory and bounded'],
		['an app that can replace the socket', 'readOnly: true', '', app, 'cannot replace the socket'],
		['another volume for the app', 'name: uds', 'name: other', app, 'one volume where the socket is'],
		['another directory for the app', 'mountPath: /uds', 'mountPath: /run', app, 'one volume where the socket is'],
		['liveness by readiness', 'path: /livez', 'path: /readyz', 0, 'never depends on Consul'],
		['readiness by liveness', 'path: /readyz', 'path: /livez', 0, 'readiness asks /readyz'],
		['no start-up probe', 'command: ["sidecar", "health"]', 'command: ["true"]', 0, 'waits for `sidecar health`'],
		['another admin port', '[::]:9464', '0.0.0.0:9465', 0, 'that of SPOCK_ADMIN'],
		['an admin port on loopback', '[::]:9464', '127.0.0.1:9464', 0, 'the kubelet reaches'],
		['an admin port for this machine alone', 'SPOCK_ADMIN_ANY', 'SPOCK_LISTEN_ANY', 0, 'the kubelet may reach'],
		['a short grace', 'PeriodSeconds: 35', 'PeriodSeconds: 29', 0, 'the grace period'],
		['a long drain', '"25000"', '"31000"', 0, 'the grace period'],
		[
			'a preStop',
			'ports:',
			'lifecycle: { preStop: { sleep: { seconds: 1 } } }\n      ports:',
			sidecarOnly,
			'no preStop',
		],
		['a token for all', 'ServiceAccountToken: false', 'ServiceAccountToken: true', 0, 'mounted unasked'],
		['a variable that is misspelt', 'SPOCK_OWNER', 'SPOCK_OWNERS', 0, 'SPOCK_OWNERS is a setting'],
		['a variable twice', 'SPOCK_OWNER', 'SPOCK_ADMIN', 0, 'SPOCK_ADMIN is given once'],
		['a variable of a later one', 'name: HOST_IP', 'name: LATER', 0, 'CONSUL_HTTP_ADDR is made of what stands before'],
		['more unread output than memory', '"67108864"', '"268435456"', 0, 'fit into the limit of memory'],
	])('are broken by %s', (_, from, to, start, sentence) => {
		expect(rules(planted(from, to, start)).join('\n')).toContain(sentence);
	});

	const login = [
		'- { name: SPOCK_CONSUL_LOGIN_METHOD, value: spock }',
		'- { name: SPOCK_CONSUL_LOGIN_TOKEN_FILE, value: /login/token }',
		'- name: HOST_IP',
	].join('\n        ');
	const projected = '\n    - name: login\n      projected: { sources: [{ serviceAccountToken: { path: token } }] }\n';
	const withLogin = planted('- name: HOST_IP', login) + projected;
	const mount = '- { name: login, mountPath: /login, readOnly: true }\n        ';

	it('want the token of a login mounted in the sidecar, read-only', () => {
		expect(rules(withLogin)).toEqual(['the token is read-only, where the sidecar reads it']);
		expect(rules(withLogin.replace('- name: uds', `${mount}- name: uds`))).toEqual([]);
	});

	it('want the token nowhere else, and no login without one', () => {
		const everywhere = withLogin.replaceAll(
			'- name: uds\n          mountPath',
			`${mount}- name: uds\n          mountPath`,
		);
		expect(rules(everywhere)).toEqual(['the sidecar alone has the token']);
		expect(rules(text + projected)).toEqual(['a token of the service account is there for a login, and only for one']);
		expect(rules(planted('- name: HOST_IP', login))).toContain(
			'a token of the service account is there for a login, and only for one',
		);
	});
});
