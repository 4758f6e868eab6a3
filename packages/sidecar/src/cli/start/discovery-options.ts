import { statSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname } from 'node:path';

import {
	type Backend,
	type BackendSourceOptions,
	type ConsulBackendOptions,
	consulOptionsFromEnvironment,
	type DiscoveryListener,
	Registrations,
	type RegistrationsOptions,
} from '@spock/discovery';
import { formatAddress, type SocketAddress } from '@spock/protocol/node';

import { CommandError, EXIT } from '../output/exit-codes.ts';
import { givenSettings, type Settings } from '../settings/setting.ts';

/** The settings of the cache between backend and clients. Throws an Error if there is a file in the place of the state directory. */
export function sourceOptionsOf(settings: Settings, backend: string): Omit<BackendSourceOptions, 'backend'> {
	const { stateDir, ...given } = givenSettings<BackendSourceOptions>(settings, [
		'idleTtlMs',
		'staleMaxMs',
		'emptyHoldMs',
		'panicThreshold',
		'entriesMax',
		'entriesPerClientMax',
		'keyEntriesMax',
		'keyEntriesPerClientMax',
		'stateDir',
	]);
	if (stateDir !== undefined && statSync(stateDir, { throwIfNoEntry: false })?.isDirectory() === false)
		throw new Error(`--state-dir ${stateDir} is no directory: name one, or a place where one can be made`);
	return { ...given, ...(stateDir !== undefined && { stateDir, stateScope: stateScope(settings, backend) }) };
}

/** Tells the registries apart that one directory must not mix up; by name and place, as an address may change. */
function stateScope(settings: Settings, backend: string): string {
	if (backend === 'local') return backend;
	const datacenter = settings.get('consulDatacenter')?.value ?? '';
	const part = (name: string, variable: string): unknown => settings.get(name)?.value ?? process.env[variable] ?? '';
	const namespace = part('consulNamespace', 'CONSUL_NAMESPACE');
	const partition = part('consulPartition', 'CONSUL_PARTITION');
	return `${backend} datacenter=${String(datacenter)} namespace=${String(namespace)} partition=${String(partition)}`;
}

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

/** What apps may register, if the registry can be written to. Throws a RangeError or TypeError naming a wrong setting. */
export function createRegistrations(
	settings: Settings,
	backend: Backend,
	address: SocketAddress,
	onEvent: DiscoveryListener,
): Registrations | undefined {
	const { registrar } = backend;
	if (registrar === undefined) return undefined;
	const {
		owner = defaultOwner(address),
		registrationTtlMs,
		...given
	} = givenSettings<RegistrationsOptions & { readonly registrationTtlMs: number }>(settings, [
		'advertise',
		'owner',
		'reconnectGraceMs',
		'registrationTtlMs',
		'registrationsMax',
		'registrationsPerHolderMax',
	]);
	return new Registrations({
		registrar,
		onEvent,
		owner,
		machine: hostname(),
		...given,
		...(registrationTtlMs !== undefined && { ttlMs: registrationTtlMs }),
	});
}

/**
 * The machine (in a pod: its name) and where the sidecar listens: the same after a restart. Pods on the network of their
 * node share its name and may share the path as well; there the volume of the socket tells them apart.
 */
function defaultOwner(address: SocketAddress): string {
	const volume = 'path' in address ? volumeOf(dirname(address.path)) : '';
	return `${hostname()} ${formatAddress(address)}${volume}`;
}

/** Names a directory that is a volume of its own; nothing for any other, which may not be there before the first start. */
function volumeOf(directory: string): string {
	try {
		const { dev, ino } = statSync(directory);
		return dev === statSync(dirname(directory)).dev ? '' : ` ${dev}-${ino}`;
	} catch {
		// Not there yet, or not to be looked at: the listener says so where it matters.
		return '';
	}
}
