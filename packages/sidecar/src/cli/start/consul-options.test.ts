import { describe, expect, it } from 'vitest';
import { resolveSettings } from '../settings/resolve-settings.ts';
import { consulOptionsOf } from './discovery-options.ts';

const optionsOf = (flags: Record<string, unknown>, env: Record<string, string> = {}) =>
	consulOptionsOf(resolveSettings({ flags, env }), env);

describe('the options of Consul', () => {
	it('nothing set asks for nothing', () => {
		expect(optionsOf({})).toEqual({});
	});

	it('every setting arrives', () => {
		const flags = {
			consul: 'http://c1:8500,http://c2:8500',
			consulTokenFile: '/run/token',
			consulDatacenter: 'dc7',
			consulConsistency: 'default',
			consulNamespace: 'ns1',
			consulPartition: 'p1',
			consulTaggedAddress: 'wan_ipv6',
			consulCached: true,
			consulWaitMs: '20s',
			consulHeldMax: '12',
			consulPollsMax: '600',
			consulLoginMethod: 'pods',
			consulLoginTokenFile: '/run/jwt',
			consulLoginMeta: 'pod=a,note=x=y',
		};
		expect(optionsOf(flags)).toEqual({
			addresses: ['http://c1:8500', 'http://c2:8500'],
			tokenFile: '/run/token',
			datacenter: 'dc7',
			consistency: 'default',
			namespace: 'ns1',
			partition: 'p1',
			taggedAddress: 'wan_ipv6',
			cached: true,
			waitMs: 20_000,
			heldMax: 12,
			pollsPerMinuteMax: 600,
			login: { method: 'pods', tokenFile: '/run/jwt', meta: { pod: 'a', note: 'x=y' } },
		});
	});

	it('the same from the environment, with a flag winning over it', () => {
		const env = { CONSUL_NAMESPACE: 'ns1', SPOCK_CONSUL_LOGIN_METHOD: 'pods', CONSUL_CACERT: '/ca.pem' };
		expect(optionsOf({ consulNamespace: 'ns2' }, env)).toEqual({
			namespace: 'ns2',
			login: { method: 'pods' },
			tls: { caFile: '/ca.pem' },
		});
	});

	it.each([
		[{ consulLoginTokenFile: '/run/jwt' }, /consul-login-token-file needs --consul-login-method/],
		[{ consulLoginMeta: 'a=b' }, /consul-login-meta needs --consul-login-method/],
		[{ consulLoginMethod: 'pods', consulLoginMeta: 'pod' }, /consul-login-meta must be name=value/],
		[{ consulTaggedAddress: 'moon' }, /consul-tagged-address must be one of lan/],
	])('%j is wrong usage', (flags, message) => {
		expect(() => optionsOf(flags)).toThrow(message);
	});
});
