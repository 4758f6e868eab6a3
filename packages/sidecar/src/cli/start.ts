import { readFileSync } from 'node:fs';

import {
	type Backend,
	BackendSource,
	consulBackend,
	createLocalBackend,
	type DiscoveryEvent,
	type LocalBackend,
} from '@spock/discovery';
import { defaultSocketPath, POD_SOCKET_DIRECTORY, parseHostPort } from '@spock/protocol/node';
import type { Logger } from 'pino';
import { parse } from 'yaml';

import { AdminServer } from '../admin/admin-server.ts';
import { SidecarMetrics } from '../admin/sidecar-metrics.ts';
import type { SidecarLimits } from '../options.ts';
import { createSidecar, type Sidecar, type SidecarListen } from '../sidecar.ts';
import type { SidecarObserver } from '../sidecar-observer.ts';
import { SIDECAR_VERSION } from '../version.ts';
import { createBackends, createDnsBackend, describeBackend } from './backend-list.ts';
import { consulOptionsOf } from './consul-options.ts';
import { createRegistrations } from './create-registrations.ts';
import { connectionLog, logDiscovery } from './event-log.ts';
import { CommandError, EXIT } from './exit-codes.ts';
import { createLogger } from './logger.ts';
import { withinOpenFiles } from './open-files.ts';
import { describeSettings, type Resolved, resolveSettings, settingsAsJson } from './resolve-settings.ts';
import { sourceOptionsOf } from './source-options.ts';
import { print } from './with-client.ts';

/** Whoever presses Ctrl-C sits there and waits. */
const TERMINAL_DRAIN_TIMEOUT_MS = 2000;

type Settings = ReadonlyMap<string, Resolved>;

/** Flags that are no settings. */
interface StartFlags extends Readonly<Record<string, unknown>> {
	readonly config?: string;
	readonly printConfig?: boolean;
	readonly json?: boolean;
}

/** `sidecar start`: runs until a signal. Gives the exit code. */
export async function start(flags: StartFlags): Promise<number> {
	const { env } = process;
	const file = flags.config ?? env['SPOCK_CONFIG'];
	const values = file === undefined ? undefined : { name: file, values: readConfig(file) };
	const settings = resolveSettings({ flags, env, ...(values && { file: values }) });
	if (flags.printConfig) {
		print(flags.json ? JSON.stringify(settingsAsJson(settings), null, 2) : describeSettings(settings));
		return EXIT.ok;
	}
	const isTerminal = process.stdout.isTTY === true;
	const format = text(settings, 'logFormat') ?? 'auto';
	const log = createLogger(
		text(settings, 'logLevel') ?? 'info',
		format === 'pretty' || (format === 'auto' && isTerminal) ? 'pretty' : 'json',
	);
	return run(settings, log, isTerminal);
}

async function run(settings: Settings, log: Logger, isTerminal: boolean): Promise<number> {
	const metrics = new SidecarMetrics();
	const onEvent = (event: DiscoveryEvent): void => {
		logDiscovery(log, event);
		metrics.discovered(event);
		// What this sidecar takes out itself is no loss of the registry's: that nothing is left is believed at once.
		if (event.type === 'registration' && event.phase === 'leaving') source.trustEmpty(event.service);
	};
	const backend = await asUsage(() => createBackend(settings, onEvent));
	const source: BackendSource = await asUsage(
		() => new BackendSource({ backend, onEvent, ...sourceOptionsOf(settings, backend.name) }),
	);
	const sidecar = await asUsage(() => {
		const listen = listenAddresses(settings);
		const [first] = listen as [SidecarListen, ...SidecarListen[]];
		const registrations = createRegistrations(settings, backend, first.address, onEvent);
		return createSidecar({
			source,
			...(registrations && { registrations }),
			listen,
			limits: withinOpenFiles(limitsOf(settings, isTerminal), log),
			observer: both(connectionLog(log), metrics),
		});
	});
	metrics.observe({
		gauges: () => sidecar.gauges(),
		watches: () => source.watches().length,
		keyWatches: () => source.keyWatches().length,
		isReady: () => sidecar.readiness().ready,
	});
	// Before anything is bound: a signal that comes while it starts must not be lost, least of all for process 1.
	const onSignal = (signal: NodeJS.Signals): void => {
		log.info({ signal }, `${signal}: ending`);
		sidecar.terminate();
	};
	process.on('SIGTERM', onSignal);
	process.on('SIGINT', onSignal);
	let admin: AdminServer | undefined;
	try {
		admin = await startAdmin(settings, sidecar, metrics, log);
		const addresses = await sidecar.start();
		// A signal may have come while it was binding: then there is nothing to announce.
		if (sidecar.status().phase === 'serving') announce(log, addresses, settings, backend);
		return await sidecar.ended;
	} catch (error) {
		await source.close();
		throw new CommandError(EXIT.failure, (error as Error).message, { cause: error });
	} finally {
		await admin?.close();
		process.off('SIGTERM', onSignal);
		process.off('SIGINT', onSignal);
	}
}

async function startAdmin(
	settings: Settings,
	sidecar: Sidecar,
	{ registry }: SidecarMetrics,
	log: Logger,
): Promise<AdminServer | undefined> {
	const address = text(settings, 'admin');
	if (address === undefined) return undefined;
	const { host, port } = await asUsage(() => parseHostPort(address));
	const admin = new AdminServer({ host, port, registry, readiness: () => sidecar.readiness() });
	log.info({ address: await admin.start() }, 'admin port: /metrics, /livez, /readyz');
	return admin;
}

/** Says where it listens, what it knows, and how to try it. */
function announce(
	log: Logger,
	addresses: readonly string[],
	settings: Settings,
	backend: Backend | LocalBackend,
): void {
	log.info({ sidecar: SIDECAR_VERSION, addresses, backend: backend.name }, `listening at ${addresses.join(' and ')}`);
	if (!('services' in backend)) {
		log.info({ backend: backend.status().addresses }, `services come from ${describeBackend(backend)}`);
		return;
	}
	const names = backend.services();
	log.info(
		{ services: names },
		names.length === 0 ? 'no services: give some with --services FILE' : `services: ${names.join(', ')}`,
	);
	const [first] = names;
	if (first === undefined) return;
	const [address = ''] = addresses;
	const isDefault = settings.get('socket')?.origin === 'default' && text(settings, 'listen') === undefined;
	const where = isDefault ? '' : address.startsWith('/') ? ` --socket ${address}` : ` --connect ${address}`;
	log.info(`try it: npx --no-install sidecar get ${first}${where}`);
}

function createBackend(settings: Settings, onEvent: (event: DiscoveryEvent) => void): Promise<Backend | LocalBackend> {
	const hasConsul = settings.get('consul')?.origin !== 'default';
	const { value, where = 'the default' } = settings.get('backend') ?? {};
	const names = (value as readonly string[] | undefined) ?? [hasConsul ? 'consul' : 'local'];
	const makers = {
		consul: () => consulBackend({ ...consulOptionsOf(settings, process.env), onEvent }),
		local: () => {
			const file = text(settings, 'services');
			return createLocalBackend({ onEvent, ...(file !== undefined && { file }) });
		},
		dns: () => createDnsBackend(settings, onEvent),
	};
	return createBackends({ names, where }, makers, onEvent);
}

function listenAddresses(settings: Settings): SidecarListen[] {
	const tcp = text(settings, 'listen');
	const named = text(settings, 'socket');
	const isNamed = settings.get('socket')?.origin !== 'default';
	const listen: SidecarListen[] = [];
	if (isNamed || tcp === undefined) {
		const path = named ?? defaultSocketPath({ env: {}, uid: process.getuid?.() });
		const socketMode = settings.get('socketMode')?.value as number | undefined;
		// The private directory of the user is ours to make; a pod's volume and a path somebody named are theirs.
		const privateDirectory = !isNamed && !path.startsWith(`${POD_SOCKET_DIRECTORY}/`);
		listen.push({ address: { path }, privateDirectory, ...(socketMode !== undefined && { socketMode }) });
	}
	if (tcp !== undefined) {
		listen.push({ address: parseHostPort(tcp), allowRemote: settings.get('listenAny')?.value === true });
	}
	return listen;
}

function limitsOf(settings: Settings, isTerminal: boolean): SidecarLimits {
	const graceMs = integer(settings, 'graceMs') ?? (isTerminal ? 0 : undefined);
	const drainTimeoutMs = integer(settings, 'drainTimeoutMs') ?? (isTerminal ? TERMINAL_DRAIN_TIMEOUT_MS : undefined);
	const frameBytesMax = integer(settings, 'frameBytesMax');
	const inFlightMax = integer(settings, 'inFlightMax');
	const connectionsMax = integer(settings, 'connectionsMax');
	const policy = text(settings, 'policy') as SidecarLimits['policy'];
	return {
		...(graceMs !== undefined && { graceMs }),
		...(drainTimeoutMs !== undefined && { drainTimeoutMs }),
		...(frameBytesMax !== undefined && { frameBytesMax }),
		...(inFlightMax !== undefined && { inFlightMax }),
		...(connectionsMax !== undefined && { connectionsMax }),
		...(policy && { policy }),
	};
}

function readConfig(file: string): Readonly<Record<string, unknown>> {
	let values: unknown;
	try {
		values = parse(readFileSync(file, 'utf8'));
	} catch (error) {
		throw new CommandError(EXIT.usage, `the config file ${file} cannot be read: ${(error as Error).message}`, {
			cause: error,
		});
	}
	if (typeof values !== 'object' || values === null || Array.isArray(values)) {
		throw new CommandError(EXIT.usage, `the config file ${file} must be an object of settings`);
	}
	return values as Record<string, unknown>;
}

/** A wrong setting is wrong usage, whoever found it out. */
async function asUsage<T>(make: () => T | Promise<T>): Promise<T> {
	try {
		return await make();
	} catch (error) {
		if (error instanceof CommandError) throw error;
		throw new CommandError(EXIT.usage, (error as Error).message, { cause: error });
	}
}

/** Two observers as one. */
function both(first: SidecarObserver, second: SidecarObserver): SidecarObserver {
	return {
		answered: (...told) => second.answered?.(...told),
		connectionOpened: (...told) => {
			first.connectionOpened?.(...told);
			second.connectionOpened?.(...told);
		},
		connectionClosed: (...told) => {
			first.connectionClosed?.(...told);
			second.connectionClosed?.(...told);
		},
		connectionRefused: () => second.connectionRefused?.(),
		pushed: (kind) => second.pushed?.(kind),
		goaway: (data) => {
			first.goaway?.(data);
			second.goaway?.(data);
		},
		fault: (...told) => first.fault?.(...told),
		phase: (phase) => first.phase?.(phase),
	};
}

function text(settings: Settings, name: string): string | undefined {
	return settings.get(name)?.value as string | undefined;
}

function integer(settings: Settings, name: string): number | undefined {
	return settings.get(name)?.value as number | undefined;
}
