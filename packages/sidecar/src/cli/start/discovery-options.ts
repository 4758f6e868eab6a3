import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { getHeapStatistics } from 'node:v8';

import {
	type Backend,
	type BackendSourceOptions,
	type ConsulBackendOptions,
	consulOptionsFromEnvironment,
	type DiscoveryListener,
	Registrations,
} from '@spock/discovery';
import { formatAddress, type SocketAddress, statOf } from '@spock/protocol/node';

import { CommandError, EXIT } from '../output/output.ts';
import { givenSettings, namedAsGiven, type Settings } from '../settings/settings.ts';

/** The settings of the cache between backend and clients. Throws an Error if there is a file in the place of the state directory. */
export function sourceOptionsOf(settings: Settings, backend: string): Omit<BackendSourceOptions, 'backend'> {
	const { stateDir, ...given } = givenSettings(settings, [
		'idleTtlMs',
		'staleMaxMs',
		'emptyHoldMs',
		'panicThreshold',
		'entriesMax',
		'entriesPerClientMax',
		'keyEntriesMax',
		'keyEntriesPerClientMax',
		'answersBytesMax',
		'stateBytesMax',
		'stateDir',
	]);
	if (stateDir !== undefined && statOf(stateDir)?.isDirectory() === false)
		throw new Error(`--state-dir ${stateDir} is not a directory: name one, or a path where one can be created`);
	return {
		...given,
		...(stateDir !== undefined && { stateDir, stateScope: stateScope(settings, backend) }),
	};
}

/** Half of the heap, which Node.js makes as large as the memory of its container allows. */
export function defaultAnswersBytesMax(): number {
	return Math.floor(getHeapStatistics().heap_size_limit / 2);
}

/** Tells the registries apart that one directory must not mix up; by name and place, as an address may change. */
function stateScope(settings: Settings, backend: string): string {
	if (backend === 'local') return backend;
	const { consulDatacenter, consulNamespace, consulPartition } = settings;
	// The settings follow CONSUL_NAMESPACE and CONSUL_PARTITION.
	const [namespace, partition] = [consulNamespace.value ?? '', consulPartition.value ?? ''];
	return `${backend} datacenter=${consulDatacenter.value ?? ''} namespace=${namespace} partition=${partition}`;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Options of the Consul backend, by the setting that each is from. */
export const CONSUL_OPTIONS = {
	addresses: 'consul',
	token: 'consulToken',
	basicAuth: 'consulAuth',
	tokenFile: 'consulTokenFile',
	datacenter: 'consulDatacenter',
	consistency: 'consulConsistency',
	namespace: 'consulNamespace',
	partition: 'consulPartition',
	taggedAddress: 'consulTaggedAddress',
	cached: 'consulCached',
	waitMs: 'consulWaitMs',
	heldMax: 'consulHeldMax',
	pollsPerMinuteMax: 'consulPollsMax',
} as const;

/**
 * What the settings ask of the Consul backend; TLS, which has no settings of its own, follows Consul's variables. Throws a
 * CommandError or a TypeError that names the setting.
 */
export function consulOptionsOf(settings: Settings, env: Environment): ConsulBackendOptions {
	const { addresses: fromEnvironment, ...rest } = consulOptionsFromEnvironment(env);
	const { addresses: asGiven, ...given } = givenSettings(settings, CONSUL_OPTIONS);
	// Read by Consul's rules from the environment, where CONSUL_HTTP_SSL has a say in it.
	const addresses = settings.consul.origin === 'environment' ? fromEnvironment : asGiven;
	const login = loginOf(settings);
	return { ...rest, ...given, ...(addresses && { addresses }), ...(login && { login }) };
}

function loginOf(settings: Settings): ConsulBackendOptions['login'] {
	const { consulLoginTokenFile, consulLoginMeta: meta } = settings;
	const { method, ...given } = givenSettings(settings, {
		method: 'consulLoginMethod',
		tokenFile: 'consulLoginTokenFile',
	});
	if (method === undefined) {
		const lonely = [consulLoginTokenFile, meta].find(({ value }) => value !== undefined);
		if (lonely === undefined) return undefined;
		throw new CommandError(EXIT.usage, `${lonely.where} needs --consul-login-method`);
	}
	const pairs = meta.value?.map((pair) => {
		const [, name, value] = /^([^=]+)=(.*)$/s.exec(pair) ?? [];
		if (name !== undefined && value !== undefined) return [name, value] as const;
		throw new CommandError(EXIT.usage, `${meta.where} must be name=value, not ${JSON.stringify(pair)}`);
	});
	return { method, ...given, ...(pairs && { meta: Object.fromEntries(pairs) }) };
}

const REGISTRATION_OPTIONS = {
	advertise: 'advertise',
	zone: 'zone',
	owner: 'owner',
	reconnectGraceMs: 'reconnectGraceMs',
	ttlMs: 'registrationTtlMs',
	registrationsMax: 'registrationsMax',
	registrationsPerHolderMax: 'registrationsPerHolderMax',
	registrationsNamedOnly: 'registrationsNamedOnly',
} as const;

/** What apps may register, if the registry can be written to. Throws an Error naming a wrong setting. */
export function createRegistrations(
	settings: Settings,
	backend: Backend,
	address: SocketAddress,
	onEvent: DiscoveryListener,
): Registrations | undefined {
	const { registrar } = backend;
	if (registrar === undefined) return undefined;
	const given = givenSettings(settings, REGISTRATION_OPTIONS);
	const machine = hostname();
	return namedAsGiven(
		settings,
		REGISTRATION_OPTIONS,
		() => new Registrations({ registrar, onEvent, owner: defaultOwner(address), machine, ...given }),
	);
}

/**
 * The machine (in a pod: its name) and where the sidecar listens: the same after a restart. Pods on the network of their
 * node share its name and may share the path as well; there the volume of the socket tells them apart.
 */
export function defaultOwner(address: SocketAddress): string {
	const volume = 'path' in address ? volumeOf(dirname(address.path)) : '';
	return `${hostname()} ${formatAddress(address)}${volume}`;
}

/** Names a directory that is a volume of its own; nothing for any other, which may not be there before the first start. */
function volumeOf(directory: string): string {
	try {
		const found = statOf(directory);
		if (found === undefined || found.dev === statOf(dirname(directory))?.dev) return '';
		return ` ${found.dev}-${found.ino}`;
	} catch {
		// Not there yet, or not to be looked at: the listener says so where it matters.
		return '';
	}
}
