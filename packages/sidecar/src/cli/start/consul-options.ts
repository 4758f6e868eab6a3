import { type ConsulBackendOptions, consulOptionsFromEnvironment } from '@spock/discovery';

import { CommandError, EXIT } from '../output/exit-codes.ts';
import type { Settings } from '../settings/setting.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * What the settings ask of the Consul backend; TLS, which has no settings of its own, follows Consul's variables. Throws a
 * CommandError or a TypeError that names the setting.
 */
export function consulOptionsOf(settings: Settings, env: Environment): ConsulBackendOptions {
	const text = (name: string): string | undefined => settings.get(name)?.value as string | undefined;
	const addresses = settings.get('consul')?.value as readonly string[] | undefined;
	const { addresses: fromEnvironment, ...rest } = consulOptionsFromEnvironment(env);
	// Read by Consul's rules from the environment, where CONSUL_HTTP_SSL has a say in it.
	const inForce = settings.get('consul')?.origin === 'environment' ? fromEnvironment : addresses;
	const given = {
		addresses: inForce,
		token: text('consulToken'),
		tokenFile: text('consulTokenFile'),
		datacenter: text('consulDatacenter'),
		consistency: text('consulConsistency'),
		namespace: text('consulNamespace'),
		partition: text('consulPartition'),
		near: text('consulNear'),
		taggedAddress: text('consulTaggedAddress'),
		cached: settings.get('consulCached')?.value,
		heldMax: settings.get('consulHeldMax')?.value,
		sharedQueriesPerMinuteMax: settings.get('consulSharedQueriesMax')?.value,
		login: loginOf(settings),
	};
	const options = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
	return { ...rest, ...(options as ConsulBackendOptions) };
}

function loginOf(settings: Settings): ConsulBackendOptions['login'] {
	const method = settings.get('consulLoginMethod')?.value as string | undefined;
	const tokenFile = settings.get('consulLoginTokenFile')?.value as string | undefined;
	const meta = settings.get('consulLoginMeta');
	if (method === undefined) {
		const lonely = [settings.get('consulLoginTokenFile'), meta].find((setting) => setting?.value !== undefined);
		if (lonely === undefined) return undefined;
		throw new CommandError(EXIT.usage, `${lonely.where} needs --consul-login-method`);
	}
	const pairs = (meta?.value as readonly string[] | undefined)?.map((pair) => {
		const [, name, value] = /^([^=]+)=(.*)$/s.exec(pair) ?? [];
		if (name !== undefined && value !== undefined) return [name, value] as const;
		throw new CommandError(EXIT.usage, `${meta?.where} must be name=value, not ${JSON.stringify(pair)}`);
	});
	return { method, ...(tokenFile && { tokenFile }), ...(pairs && { meta: Object.fromEntries(pairs) }) };
}
