import { sidecarPolicies } from '../../foundation/limits.ts';
import { answerSettings, registrationSettings } from './answer-settings.ts';
import { consulSettings, dnsSettings, replaySettings } from './backend-settings.ts';
import { limitSettings } from './limit-settings.ts';
import { accessSettings, grpcSettings, handOverSettings } from './listen-settings.ts';
import { adminSettings, logSettings, metricsSettings } from './reporting-settings.ts';
import type { Setting } from './setting.ts';

/** Every setting of `sidecar start`: flags, environment, config file, help and `--print-config` all come from this table. */
export const settings: readonly Setting[] = [
	{
		name: 'backend',
		flag: '--backend <names>',
		env: 'SPOCK_BACKEND',
		help: 'source of services: consul, local, dns, replay or the path of a module; of several, separated by commas, the first that knows a service',
		kind: 'list',
		fallback: 'consul when CONSUL_HTTP_ADDR is set, else local',
	},
	{
		name: 'services',
		flag: '--services <file>',
		env: 'SPOCK_SERVICES',
		help: 'services of the local backend, JSON or YAML, read again when it changes',
		kind: 'text',
		fallback: 'none',
	},
	{
		name: 'consul',
		flag: '--consul <urls>',
		env: 'CONSUL_HTTP_ADDR',
		help: 'addresses of Consul, separated by commas',
		kind: 'list',
		fallback: 'http://127.0.0.1:8500',
	},
	{
		name: 'consulToken',
		env: 'CONSUL_HTTP_TOKEN',
		help: 'ACL token',
		kind: 'text',
		isSecret: true,
		fallback: 'none',
	},
	{
		name: 'consulTokenFile',
		flag: '--consul-token-file <file>',
		env: 'CONSUL_HTTP_TOKEN_FILE',
		help: 'file with the ACL token, read again for every query',
		kind: 'text',
		fallback: 'none',
	},
	{
		name: 'consulDatacenter',
		flag: '--consul-datacenter <name>',
		env: 'SPOCK_CONSUL_DATACENTER',
		help: 'datacenter to ask',
		kind: 'text',
		fallback: "the agent's own",
	},
	{
		name: 'consulConsistency',
		flag: '--consul-consistency <mode>',
		env: 'SPOCK_CONSUL_CONSISTENCY',
		help: 'stale, default or consistent',
		kind: ['stale', 'default', 'consistent'],
		fallback: 'stale',
	},
	...consulSettings,
	...dnsSettings,
	...replaySettings,
	...registrationSettings,
	{
		name: 'socket',
		flag: '--socket <path>',
		env: 'SPOCK_SOCKET',
		help: 'unix domain socket to listen at',
		kind: 'text',
		fallback: '/uds/sidecar.sock in a pod, else a private directory of the user; none with --listen',
	},
	{
		name: 'socketMode',
		flag: '--socket-mode <mode>',
		env: 'SPOCK_SOCKET_MODE',
		help: 'permissions of the socket, octal',
		kind: 'mode',
		fallback: '0660',
	},
	...accessSettings,
	...grpcSettings,
	...adminSettings,
	...metricsSettings,
	...handOverSettings,
	...logSettings,
	{
		name: 'policy',
		flag: '--policy <name>',
		env: 'SPOCK_POLICY',
		help: `how getService picks an instance: ${sidecarPolicies.join(', ')}`,
		kind: sidecarPolicies,
		fallback: 'round-robin',
	},
	{
		name: 'graceMs',
		flag: '--grace-ms <ms>',
		env: 'SPOCK_GRACE_MS',
		help: 'minimum time that clients are served after SIGTERM',
		kind: 'integer',
		fallback: '1000; 0 on a terminal',
	},
	{
		name: 'drainTimeoutMs',
		flag: '--drain-timeout-ms <ms>',
		env: 'SPOCK_DRAIN_TIMEOUT_MS',
		help: 'time after SIGTERM at which remaining clients are cut off',
		kind: 'integer',
		fallback: '25000; 2000 on a terminal',
	},
	...answerSettings,
	...limitSettings,
];
