import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

import {
	type Backend,
	type BackendFactory,
	chainBackend,
	consulBackend,
	createLocalBackend,
	createReplayBackend,
	type DiscoveryEvent,
	type DiscoveryListener,
	dnsBackend,
	type LocalBackend,
} from '@spock/discovery';
import { messageOf, systemClock } from '@spock/protocol/internal';

import { CommandError, EXIT } from '../output/output.ts';
import { givenSettings, namedAsGiven, type Settings } from '../settings/settings.ts';
import { createUpstream } from './create-upstream.ts';
import { CONSUL_OPTIONS, consulOptionsOf } from './discovery-options.ts';

/** Backends by the names that `--backend` knows. */
export type BackendMakers = Readonly<Record<string, () => Backend | Promise<Backend>>>;

/** A module of the user's own, given by its path. */
const MODULE = /^(?:\.{0,2}\/|file:)|\.[cm]?js$/;
const METHODS = ['watch', 'list', 'status', 'close'] as const;

/**
 * The backend that the setting names: one of ours, a module, or several in order. Throws a CommandError that names what is
 * wrong, and `where` it was said; backends made before are closed then.
 */
export async function createBackends(
	{ names, where }: { readonly names: readonly string[]; readonly where: string },
	makers: BackendMakers,
	onEvent: DiscoveryListener,
): Promise<Backend> {
	const twice = names.find((name, number) => names.indexOf(name) !== number);
	if (twice !== undefined) throw usage(`${where} names ${twice} twice`);
	const strange = names.find((name) => !Object.hasOwn(makers, name) && !MODULE.test(name));
	if (strange !== undefined) {
		const known = Object.keys(makers).join(', ');
		throw usage(
			`${where} must be one of ${known}, or the path of a module such as ./my-backend.js, not ${JSON.stringify(strange)}`,
		);
	}
	const backends: Backend[] = [];
	try {
		for (const name of names) backends.push(await (makers[name]?.() ?? loadBackend(name, onEvent)));
		const [first, ...others] = backends;
		return first !== undefined && others.length === 0 ? first : chainBackend({ backends });
	} catch (error) {
		await Promise.all(backends.map((backend) => backend.close()));
		throw error;
	}
}

const DNS_OPTIONS = {
	servers: 'dnsServer',
	nameTemplate: 'dnsNameTemplate',
	protocol: 'dnsProtocol',
	ttlMsMin: 'dnsTtlMsMin',
	ttlMsMax: 'dnsTtlMsMax',
} as const;

/** The `dns` backend as the settings ask for it. */
export function createDnsBackend(settings: Settings, onEvent: DiscoveryListener): Backend {
	return namedAsGiven(settings, DNS_OPTIONS, () => dnsBackend({ onEvent, ...givenSettings(settings, DNS_OPTIONS) }));
}

/** A line for people: where services come from. */
export function describeBackend(backend: Backend): string {
	const { name, addresses, members } = backend.status();
	const each = members ?? [{ name, addresses }];
	return each.map((one) => `${one.name} (${one.addresses.join(', ') || 'no address'})`).join(', then ');
}

/** Loads a backend from a module whose default export makes it. */
async function loadBackend(path: string, onEvent: DiscoveryListener): Promise<Backend> {
	const url = path.startsWith('file:') ? path : pathToFileURL(resolve(path)).href;
	let make: unknown;
	try {
		make = ((await import(url)) as { readonly default?: unknown }).default;
	} catch (error) {
		throw usage(`the backend ${path} cannot be loaded: ${messageOf(error)}`, error);
	}
	if (typeof make !== 'function') {
		throw usage(`the backend ${path} must have a default export that is a function and creates a backend`);
	}
	let backend: Backend | undefined;
	try {
		backend = await (make as BackendFactory)({ onEvent, clock: systemClock });
	} catch (error) {
		throw usage(`the backend ${path} cannot be created: ${messageOf(error)}`, error);
	}
	if (typeof backend?.name !== 'string' || backend.name === '') {
		throw usage(`the backend ${path} must have a name, which is a non-empty string`);
	}
	const missing = METHODS.find((method) => typeof backend[method] !== 'function');
	if (missing !== undefined)
		throw usage(`the backend ${path} must have a function ${missing}; docs/guide/backends.md describes it`);
	return backend;
}

function usage(message: string, cause?: unknown): CommandError {
	return new CommandError(EXIT.usage, message, { cause });
}

/** The backends to ask, in order. */
export function backendNames({ backend, upstream, consul }: Settings): readonly string[] {
	if (backend.value !== undefined) return backend.value;
	if (upstream.value !== undefined) return ['spock'];
	return [consul.origin === 'default' ? 'local' : 'consul'];
}

/** Where the services come from, as the settings say. Rejects with an Error that names what is wrong with them. */
export function createBackend(
	settings: Settings,
	onEvent: (event: DiscoveryEvent) => void,
	instance: string,
): Promise<Backend | LocalBackend> {
	const { where } = settings.backend;
	const names = backendNames(settings);
	const isAsked = names.includes('spock');
	if (settings.upstream.value !== undefined && !isAsked) {
		throw usage(`${settings.upstream.where} needs the backend spock, and ${where} names ${names.join(', ')}`);
	}
	if (isAsked && names.length > 1 && names.join() !== 'spock,consul') {
		throw usage(`${where} may name spock alone, or spock,consul, not ${names.join(',')}`);
	}
	const makers = {
		consul: () =>
			namedAsGiven(settings, CONSUL_OPTIONS, () =>
				consulBackend({ ...consulOptionsOf(settings, process.env), onEvent }),
			),
		local: () => createLocalBackend({ onEvent, ...givenSettings(settings, { file: 'services' }) }),
		dns: () => createDnsBackend(settings, onEvent),
		replay: () => createReplay(settings),
		spock: () => createUpstream(settings, { instance, withConsul: names.includes('consul'), onEvent }),
	};
	// Consul stands in for another sidecar, and is not asked beside it.
	const made = isAsked ? ['spock'] : names;
	return createBackends({ names: made, where }, makers, onEvent);
}

/** The `replay` backend as the settings ask for it. Rejects with an Error that names what is wrong. */
export async function createReplay(settings: Settings): Promise<Backend> {
	const file = settings.record.value;
	if (file === undefined) throw new CommandError(EXIT.usage, 'the replay backend needs a recording: --record FILE');
	return createReplayBackend({ file, loop: settings.replayLoop.value, speed: speedOf(settings.replaySpeed) });
}

function speedOf({ value: text, where }: Settings['replaySpeed']): number {
	if (text === 'max') return 0;
	const speed = /^\d+(?:\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
	if (Number.isFinite(speed)) return speed;
	throw new CommandError(EXIT.usage, `${where} must be a factor such as 60 or 0.5, or max, not ${text}`);
}
