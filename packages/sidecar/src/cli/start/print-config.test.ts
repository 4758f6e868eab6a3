import { expect, it } from 'vitest';

import { resolveSettings } from '../settings/resolve-settings.ts';
import { describeSettings, settingsAsJson } from './print-config.ts';

type Env = Readonly<Record<string, string>>;

function shown(flags: object, env: Env = {}, { isTerminal = false, values = {} } = {}) {
	const settings = resolveSettings({ flags: { ...flags }, env, file: { name: '/etc/spock.yaml', values } });
	const facts = { env, isTerminal };
	const json = settingsAsJson(settings, facts) as Record<string, Readonly<Record<string, unknown>>>;
	return { text: describeSettings(settings, facts), json };
}

it('each value is shown with where it is from: flag, variable, config file or default', () => {
	const values = { graceMs: '90s' };
	const { text, json } = shown({ socket: '/run/a.sock' }, { SPOCK_SOCKET_MODE: '0600' }, { values });
	expect(text).toMatch(/^socket +\/run\/a\.sock +flag: --socket$/m);
	expect(text).toMatch(/^socketMode +0600 +environment: SPOCK_SOCKET_MODE$/m);
	expect(text).toMatch(/^graceMs +90s +config file: graceMs in \/etc\/spock\.yaml$/m);
	expect(text).toMatch(/^idleTtlMs +1m +default$/m);
	expect(json['socket']).toMatchObject({ value: '/run/a.sock', origin: 'flag', where: '--socket' });
	expect(json['socketMode']).toMatchObject({ value: '0600', origin: 'environment', where: 'SPOCK_SOCKET_MODE' });
	expect(json['graceMs']).toMatchObject({ value: 90_000, origin: 'config file', default: '1s; 0 on a terminal' });
	expect(json['idleTtlMs']).toEqual({ value: 60_000, origin: 'default', default: '1m' });
	expect(json['stateDir']).toEqual({ value: null, origin: 'default', default: 'none' });
});

it('a default that depends on something is shown as the value in force, and why', () => {
	expect(shown({}).text).toMatch(/^backend +local +default: no address of Consul is given$/m);
	const withConsul = shown({}, { CONSUL_HTTP_ADDR: 'consul:8500' });
	expect(withConsul.text).toMatch(/^backend +consul +default: CONSUL_HTTP_ADDR is set$/m);
	expect(withConsul.json['backend']).toMatchObject({ value: ['consul'], because: 'CONSUL_HTTP_ADDR is set' });
	expect(shown({ consul: 'http://a' }).text).toMatch(/^backend +consul +default: --consul is set$/m);
	expect(shown({ backend: 'dns' }, { CONSUL_HTTP_ADDR: 'a' }).text).toMatch(/^backend +dns +flag: --backend$/m);
	expect(shown({ entriesMax: '7' }).text).toMatch(/^entriesPerClientMax +4 +default: half of entriesMax$/m);
	expect(shown({}).text).toMatch(/^answersBytesMax +\d{8,} +default: half of the heap$/m);
	expect(shown({ upstream: 'tls://u:7777' }).text).toMatch(
		/^entriesMax +4096 +default: the room that the other sidecar has for one client$/m,
	);
	expect(shown({ upstream: 'tls://u:7777', entriesMax: '9000' }).text).toMatch(/^entriesPerClientMax +4500 /m);
	expect(shown({}).text).toMatch(/^socket +\/\S+\/sidecar\.sock +default: (?:in a pod|private to this user)$/m);
	expect(shown({ listen: '127.0.0.1:4000' }).text).toMatch(/^socket +none +default: --listen is given$/m);
	expect(shown({}).text).toMatch(/^graceMs +1s +default$/m);
	expect(shown({}, {}, { isTerminal: true }).text).toMatch(/^graceMs +0 +default: on a terminal$/m);
	expect(shown({ graceMs: '3s' }, {}, { isTerminal: true }).text).toMatch(/^graceMs +3s +flag: --grace-ms$/m);
	expect(shown({}).text).toMatch(/^logFormat +json +default: the output is no terminal$/m);
});

it("addresses of Consul are those of Consul's rules, and its variables without a setting are shown", () => {
	const { text, json } = shown({}, { CONSUL_HTTP_ADDR: 'consul:8501', CONSUL_HTTP_SSL: '1', CONSUL_CACERT: '/ca.pem' });
	expect(text).toMatch(/^consul +https:\/\/consul:8501 +environment: CONSUL_HTTP_ADDR \(by Consul's rules\)$/m);
	expect(text).toMatch(/^CONSUL_CACERT +\/ca\.pem +environment$/m);
	expect(json['CONSUL_CACERT']).toMatchObject({ value: '/ca.pem', origin: 'environment' });
	expect(() => shown({}, { CONSUL_HTTP_ADDR: 'a', CONSUL_HTTP_SSL: 'maybe' })).toThrow('CONSUL_HTTP_SSL must be');
});

it('no secret is shown, nor a password or a token in a URL', () => {
	const { text, json } = shown(
		{
			consul: 'https://ann:s3cret@consul:8501,http://b',
			eventsHttpUrl: 'https://s3cret@store/{stream}?key=s3cret',
			eventsNatsServers: 'nats://ann:s3cret@n:4222',
			upstream: 'tls://ann:s3cret@u:7777,ann:s3cret@u:7778',
		},
		{ CONSUL_HTTP_TOKEN: 's3cret', SPOCK_TOKEN: 's3cret' },
	);
	expect(text).toMatch(/^consulToken +\(hidden\) +environment: CONSUL_HTTP_TOKEN$/m);
	expect(text).toContain('https://(hidden)@consul:8501,http://b');
	expect(text).toContain('tls://(hidden)@u:7777,(hidden)@u:7778');
	expect(json['token']).toMatchObject({ value: '(hidden)', origin: 'environment', where: 'SPOCK_TOKEN' });
	expect(text + JSON.stringify(json)).not.toMatch(/s3cret|ann/);
});
