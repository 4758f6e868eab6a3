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
import { systemClock } from '@spock/protocol/internal';

import { CommandError, EXIT } from '../output/exit-codes.ts';
import { type Resolved, type Settings, textOf } from '../settings/setting.ts';
import { consulOptionsOf } from './discovery-options.ts';

/** Backends by the names that `--backend` knows. */
export type BackendMakers = Readonly<Record<string, () => Backend | Promise<Backend>>>;

/** A module of somebody's own, by its path and not by a name. */
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
			`${where} must be of ${known} or the path of a module, as in ./my-backend.js; not ${JSON.stringify(strange)}`,
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

/** The `dns` backend as the settings ask for it. */
export function createDnsBackend(settings: Settings, onEvent: DiscoveryListener): Backend {
	const value = (name: string): unknown => settings.get(name)?.value;
	const servers = value('dnsServer') as readonly string[] | undefined;
	const nameTemplate = value('dnsNameTemplate') as string | undefined;
	const protocol = value('dnsProtocol') as 'udp' | undefined;
	const ttlMsMin = value('dnsTtlMsMin') as number | undefined;
	const ttlMsMax = value('dnsTtlMsMax') as number | undefined;
	return dnsBackend({
		onEvent,
		...(servers && { servers }),
		...(nameTemplate && { nameTemplate }),
		...(protocol && { protocol }),
		...(ttlMsMin !== undefined && { ttlMsMin }),
		...(ttlMsMax !== undefined && { ttlMsMax }),
	});
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
		throw usage(`the backend ${path} cannot be loaded: ${(error as Error).message}`, error);
	}
	if (typeof make !== 'function') {
		throw usage(`the backend ${path} must have a default export that is a function and makes a backend`);
	}
	let backend: Backend | undefined;
	try {
		backend = await (make as BackendFactory)({ onEvent, clock: systemClock });
	} catch (error) {
		throw usage(`the backend ${path} cannot be made: ${(error as Error).message}`, error);
	}
	if (typeof backend?.name !== 'string' || backend.name === '') {
		throw usage(`the backend ${path} must have a name, which is a text`);
	}
	const missing = METHODS.find((method) => typeof backend[method] !== 'function');
	if (missing !== undefined)
		throw usage(`the backend ${path} has no function ${missing}; docs/BACKENDS.md says what it does`);
	return backend;
}

function usage(message: string, cause?: unknown): CommandError {
	return new CommandError(EXIT.usage, message, { cause });
}

/** Where the services come from, as the settings say. Rejects with an Error that names what is wrong with them. */
export function createBackend(
	settings: Settings,
	onEvent: (event: DiscoveryEvent) => void,
): Promise<Backend | LocalBackend> {
	const hasConsul = settings.get('consul')?.origin !== 'default';
	const { value, where = 'the default' } = settings.get('backend') ?? {};
	const names = (value as readonly string[] | undefined) ?? [hasConsul ? 'consul' : 'local'];
	const makers = {
		consul: () => consulBackend({ ...consulOptionsOf(settings, process.env), onEvent }),
		local: () => {
			const file = textOf(settings, 'services');
			return createLocalBackend({ onEvent, ...(file !== undefined && { file }) });
		},
		dns: () => createDnsBackend(settings, onEvent),
		replay: () => createReplay(settings),
	};
	return createBackends({ names, where }, makers, onEvent);
}

/** The `replay` backend as the settings ask for it. Rejects with an Error that names what is wrong. */
export async function createReplay(settings: Settings): Promise<Backend> {
	const file = settings.get('record')?.value as string | undefined;
	if (file === undefined) throw new CommandError(EXIT.usage, 'the replay backend needs a record: --record FILE');
	const loop = settings.get('replayLoop')?.value === true;
	return createReplayBackend({ file, loop, speed: speedOf(settings.get('replaySpeed')) });
}

function speedOf(setting: Resolved | undefined): number {
	const text = setting?.value as string | undefined;
	if (text === undefined) return 1;
	if (text === 'max') return 0;
	const speed = /^\d+(?:\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
	if (Number.isFinite(speed)) return speed;
	throw new CommandError(EXIT.usage, `${setting?.where} must be a factor, as 60 or 0.5, or max; not ${text}`);
}
