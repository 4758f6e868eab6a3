import {
	type Backend,
	BackendSource,
	consulBackend,
	createLocalBackend,
	type DiscoveryEvent,
	type LocalBackend,
} from '@spock/discovery';
import { systemClock } from '@spock/protocol/internal';
import { defaultSocketPath, POD_SOCKET_DIRECTORY, parseHostPort } from '@spock/protocol/node';
import type { Logger } from 'pino';

import { AdminServer } from '../admin/admin-server.ts';
import { SidecarMetrics } from '../admin/sidecar-metrics.ts';
import type { SidecarLimits } from '../options.ts';
import { createSidecar, type Sidecar, type SidecarListen } from '../sidecar.ts';
import type { SidecarObserver } from '../sidecar-observer.ts';
import type { TakeOverOptions } from '../take-over/take-over.ts';
import { untilFree } from '../take-over/until-free.ts';
import { SIDECAR_VERSION } from '../version.ts';
import { type Access, accessFrom } from './access-settings.ts';
import { createBackends, createDnsBackend, describeBackend } from './backend-list.ts';
import { consulOptionsOf } from './consul-options.ts';
import { createRegistrations } from './create-registrations.ts';
import { createReplay } from './create-replay.ts';
import { connectionLog, logDiscovery, logTakeOver } from './event-log.ts';
import { CommandError, EXIT } from './exit-codes.ts';
import { findPredecessor } from './find-predecessor.ts';
import { limitsFrom } from './limit-settings.ts';
import { DEFAULT_LOG_LEVEL, isPretty } from './log-format.ts';
import { createLogger } from './logger.ts';
import { withinOpenFiles } from './open-files.ts';
import type { Resolved } from './resolve-settings.ts';
import { plainTarget, tokenOf } from './sidecar-target.ts';
import { sourceOptionsOf } from './source-options.ts';
import { Supervised } from './supervise/supervised.ts';
import { tryItCommand } from './try-it.ts';

/** Whoever presses Ctrl-C sits there and waits. */
const TERMINAL_DRAIN_TIMEOUT_MS = 2000;

const DEFAULT_WARM_UP_MS = 30_000;

type Settings = ReadonlyMap<string, Resolved>;

/** `sidecar start` in this process: runs until a signal. Gives the exit code. */
export async function start(settings: Settings, isTerminal: boolean, isSupervised: boolean): Promise<number> {
	const log = createLogger(
		text(settings, 'logLevel') ?? DEFAULT_LOG_LEVEL,
		isPretty(settings, isTerminal) ? 'pretty' : 'json',
	);
	const metrics = new SidecarMetrics();
	if (!isSupervised) return run(settings, { log, metrics, isTerminal, supervised: undefined });
	// All that `run` needs is loaded and made by now, and nothing is open: a standby waits here.
	const supervised = await Supervised.activated();
	if (supervised === undefined) return EXIT.ok;
	try {
		return await run(settings, { log, metrics, isTerminal, supervised });
	} finally {
		supervised.close();
	}
}

/** What is made before a standby waits. */
interface Prepared {
	readonly log: Logger;
	readonly metrics: SidecarMetrics;
	readonly isTerminal: boolean;
	/** Undefined where nobody supervises this process. */
	readonly supervised: Supervised | undefined;
}

async function run(settings: Settings, { log, metrics, isTerminal, supervised }: Prepared): Promise<number> {
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
	let admin: { close(): Promise<void> } | undefined;
	const sidecar = await asUsage(() => {
		const access = accessFrom(settings, onEvent);
		for (const warning of access.warnings) log.warn(warning);
		const listen = listenAddresses(settings, access);
		const [first] = listen as [SidecarListen, ...SidecarListen[]];
		const registrations = createRegistrations(settings, backend, first.address, onEvent);
		// A worker that is started again takes nobody's place but that of the one before it.
		const takeOver = (supervised?.supervision.restarts ?? 0) > 0 ? undefined : takeOverOf(settings, first, log);
		return createSidecar({
			source,
			...(takeOver && { takeOver }),
			...(supervised && { listener: supervised.listen, supervision: supervised.supervision }),
			...(registrations && { registrations }),
			listen,
			limits: withinOpenFiles(limitsOf(settings, isTerminal), log),
			observer: both(connectionLog(log), metrics, (phase) => {
				// The port is for whoever has taken this place.
				if (phase === 'handing over') {
					void admin?.close();
					supervised?.replaced();
				}
				if (phase === 'serving') supervised?.serving();
			}),
		});
	});
	metrics.observe({
		gauges: () => sidecar.gauges(),
		limits: sidecar.limits,
		watches: () => source.watches().length,
		keyWatches: () => source.keyWatches().length,
		isReady: () => sidecar.readiness().ready,
	});
	if (supervised !== undefined) {
		metrics.supervised(supervised.supervision);
		// Nobody new can come: who is there is served until the next sidecar stands at the path, or until it is late.
		supervised.lost = () => {
			log.error('the supervisor has died: ending');
			if (sidecar.status().phase === 'serving') sidecar.replaced();
			else sidecar.terminate();
		};
	}
	// Before anything is bound: a signal that comes while it starts must not be lost, least of all for process 1.
	const onSignal = (signal: NodeJS.Signals): void => {
		log.info({ signal }, `${signal}: ending`);
		sidecar.terminate();
	};
	if (supervised === undefined) {
		process.on('SIGTERM', onSignal);
		process.on('SIGINT', onSignal);
	} else supervised.signalled = onSignal;
	try {
		// Behind the sockets where others wait for those: clients of a worker that has crashed, or a port that another has.
		const isAdminLast = settings.get('takeOver')?.value === true || supervised !== undefined;
		if (!isAdminLast) admin = await startAdmin(settings, sidecar, metrics, log);
		const addresses = await sidecar.start();
		if (isAdminLast) admin = await startAdmin(settings, sidecar, metrics, log);
		// A signal may have come while it was binding: then there is nothing to announce.
		if (sidecar.status().phase === 'serving') announce(log, addresses, settings, backend);
		return await sidecar.ended;
	} catch (error) {
		await endAtOnce(sidecar);
		await source.close();
		throw new CommandError(EXIT.failure, (error as Error).message, { cause: error });
	} finally {
		await admin?.close();
		process.off('SIGTERM', onSignal);
		process.off('SIGINT', onSignal);
	}
}

/** Whatever it has bound is let go, so that the process can end; clients are not waited for. */
async function endAtOnce(sidecar: Sidecar): Promise<void> {
	sidecar.terminate();
	sidecar.terminate();
	await sidecar.ended;
}

async function startAdmin(
	settings: Settings,
	sidecar: Sidecar,
	metrics: SidecarMetrics,
	log: Logger,
): Promise<{ close(): Promise<void> } | undefined> {
	const address = text(settings, 'admin');
	if (address === undefined) return undefined;
	const { host, port } = await asUsage(() => parseHostPort(address));
	const { registry } = metrics;
	const acceptFailed = (error: Error): void => metrics.acceptFailed(error);
	let admin: AdminServer | undefined;
	const bind = async (): Promise<{ address: string; close(): Promise<void> }> => {
		const one = new AdminServer({ host, port, registry, readiness: () => sidecar.readiness(), acceptFailed });
		const bound = await one.start();
		admin = one;
		return { address: bound, close: () => one.close() };
	};
	const bound = ({ address }: { address: string }): void =>
		log.info({ address }, 'admin port: /metrics, /livez, /readyz');
	const trying = new AbortController();
	// A sidecar whose place is taken has it until then, and longer if it hangs.
	if (settings.get('takeOver')?.value !== true) bound(await bind());
	else {
		const late = (error: Error): void => logTakeOver(log, { step: 'port late', questions: 0, error });
		await untilFree({ clock: systemClock, signal: trying.signal, bind, bound, late });
	}
	return {
		close: async () => {
			trying.abort();
			await admin?.close();
		},
	};
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
	const tokenFile = text(settings, 'tokenFile');
	const command = tryItCommand(first, {
		addresses,
		isDefault: settings.get('socket')?.origin === 'default' && text(settings, 'listen') === undefined,
		hasToken: tokenFile !== undefined || text(settings, 'token') !== undefined,
		tokenFile,
		tokenOnSocket: settings.get('tokenOnSocket')?.value === true,
	});
	if (command !== undefined) log.info(`try it: ${command}`);
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
		replay: () => createReplay(settings),
	};
	return createBackends({ names, where }, makers, onEvent);
}

function listenAddresses(settings: Settings, { tcp, socketTokens }: Access): SidecarListen[] {
	const named = text(settings, 'socket');
	const isNamed = settings.get('socket')?.origin !== 'default';
	const listen: SidecarListen[] = [];
	if (isNamed || tcp === undefined) {
		const path = named ?? defaultSocketPath({ env: {}, uid: process.getuid?.() });
		const socketMode = settings.get('socketMode')?.value as number | undefined;
		// The private directory of the user is ours to make; a pod's volume and a path somebody named are theirs.
		const privateDirectory = !isNamed && !path.startsWith(`${POD_SOCKET_DIRECTORY}/`);
		listen.push({
			address: { path },
			privateDirectory,
			...(socketMode !== undefined && { socketMode }),
			...(socketTokens && { tokens: socketTokens }),
		});
	}
	return tcp === undefined ? listen : [...listen, tcp];
}

function takeOverOf(settings: Settings, { address }: SidecarListen, log: Logger): TakeOverOptions | undefined {
	if (settings.get('takeOver')?.value !== true) return undefined;
	if (!('path' in address)) throw new Error('there is no path to take over: --take-over needs --socket');
	const [file, token] = ['tokenFile', 'token'].map((name) => settings.get(name)?.value as string | undefined);
	const find: TakeOverOptions['find'] = (at, timeoutMs) =>
		findPredecessor(plainTarget(at, tokenOf(file, token)), timeoutMs);
	const warmUpMs = integer(settings, 'takeOverWarmUpMs') ?? DEFAULT_WARM_UP_MS;
	return { find, warmUpMs, told: (event) => logTakeOver(log, event) };
}

function limitsOf(settings: Settings, isTerminal: boolean): SidecarLimits {
	const graceMs = integer(settings, 'graceMs') ?? (isTerminal ? 0 : undefined);
	const drainTimeoutMs = integer(settings, 'drainTimeoutMs') ?? (isTerminal ? TERMINAL_DRAIN_TIMEOUT_MS : undefined);
	const policy = text(settings, 'policy') as SidecarLimits['policy'];
	return {
		...limitsFrom(settings),
		...(graceMs !== undefined && { graceMs }),
		...(drainTimeoutMs !== undefined && { drainTimeoutMs }),
		...(policy && { policy }),
	};
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
function both(first: SidecarObserver, second: SidecarObserver, phased: (phase: string) => void): SidecarObserver {
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
		oversize: (...told) => first.oversize?.(...told),
		goaway: (data) => {
			first.goaway?.(data);
			second.goaway?.(data);
		},
		limited: (limit) => second.limited?.(limit),
		overload: (signals) => {
			first.overload?.(signals);
			second.overload?.(signals);
		},
		acceptFailed: (error) => second.acceptFailed?.(error),
		tlsFailed: (reason) => second.tlsFailed?.(reason),
		windowTold: (direction) => second.windowTold?.(direction),
		fault: (...told) => first.fault?.(...told),
		phase: (phase) => {
			first.phase?.(phase);
			phased(phase);
		},
		placeLost: (error) => first.placeLost?.(error),
	};
}

function text(settings: Settings, name: string): string | undefined {
	return settings.get(name)?.value as string | undefined;
}

function integer(settings: Settings, name: string): number | undefined {
	return settings.get(name)?.value as number | undefined;
}
