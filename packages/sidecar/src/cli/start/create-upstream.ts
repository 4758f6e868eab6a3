import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';

import { tlsTransport } from '@spock/client/tls';
import type { UpstreamPlace } from '@spock/client/upstream';
import { BackendSource, consulBackend, type DiscoveryListener, TlsFiles } from '@spock/discovery';
import { messageOf, systemClock } from '@spock/protocol/internal';
import { formatAddress } from '@spock/protocol/node';

import { tokensIn } from '../../listen/tokens.ts';
import { UpstreamBackend } from '../../upstream/upstream-backend.ts';
import { parseTcpAddress } from '../client/sidecar-target.ts';
import { CommandError, EXIT } from '../output/output.ts';
import { withoutPassword } from '../settings/setting.ts';
import { givenSettings, type Settings } from '../settings/settings.ts';
import { consulOptionsOf } from './discovery-options.ts';

const TLS_SETTINGS = ['upstreamCa', 'upstreamCert', 'upstreamKey'] as const;

/**
 * What all sidecars of a cluster may ask of Consul while the one that they share is away: a few held queries each, for what was
 * never asked before, and not all at the same moment. A first lookup waits 4 s for its answer: so a sidecar asks Consul within 3 s of the
 * loss, and an app that looks up a new service every 0.7 s has all of them answered (with 30 queries a minute, 22 of 48).
 */
export const CONSUL_WHILE_AWAY = {
	heldMax: 4,
	pollsPerMinuteMax: 120,
	afterMs: 1000,
	/** Each begins at a point of its own within this. */
	spreadMs: 2000,
} as const;

/** The backend that the settings ask for with `spock`, and with `spock,consul`. Throws a CommandError that names what is wrong. */
export function createUpstream(
	settings: Settings,
	{ instance, withConsul, onEvent }: { instance: string; withConsul: boolean; onEvent: DiscoveryListener },
): UpstreamBackend {
	const places = placesOf(settings);
	const tokenFile = settings.upstreamTokenFile.value;
	const { afterMs, spreadMs } = CONSUL_WHILE_AWAY;
	return new UpstreamBackend({
		places,
		sidecar: instance,
		// A pod's name: what the other one shows of its clients.
		name: `sidecar ${hostname()}`.slice(0, 214),
		frameBytesMax: settings.frameBytesMax.value,
		...(tokenFile !== undefined && { token: () => tokenIn(tokenFile) }),
		...(withConsul && {
			fallback: () => new BackendSource({ backend: fallbackOf(settings, onEvent), onEvent }),
			fallbackAfterMs: afterMs + Math.floor(Math.random() * spreadMs),
		}),
	});
}

function fallbackOf(settings: Settings, onEvent: DiscoveryListener): ReturnType<typeof consulBackend> {
	return consulBackend({
		heldMax: CONSUL_WHILE_AWAY.heldMax,
		pollsPerMinuteMax: CONSUL_WHILE_AWAY.pollsPerMinuteMax,
		...consulOptionsOf(settings, process.env),
		onEvent,
	});
}

function placesOf(settings: Settings): readonly UpstreamPlace[] {
	const { value: names = [], where } = settings.upstream;
	if (names.length === 0) throw usage('the backend spock needs --upstream tls://HOST:PORT, HOST:PORT or unix:PATH');
	const files = givenSettings(settings, { caFile: 'upstreamCa', certFile: 'upstreamCert', keyFile: 'upstreamKey' });
	const { upstreamCert: cert, upstreamKey: key } = settings;
	if ((cert.value === undefined) !== (key.value === undefined)) {
		throw usage(cert.value === undefined ? `${key.where} needs --upstream-cert` : `${cert.where} needs --upstream-key`);
	}
	const places = names.map((name) => placeOf(name, where, files));
	const needless = TLS_SETTINGS.map((name) => settings[name]).find(({ value }) => value !== undefined);
	if (needless !== undefined && !names.some((name) => name.startsWith('tls://'))) {
		throw usage(`${needless.where} needs tls://HOST:PORT in --upstream`);
	}
	return places;
}

function placeOf(name: string, where: string, files: Parameters<typeof secretsIn>[0]): UpstreamPlace {
	if (name.startsWith('unix:')) return { name, address: { path: name.slice('unix:'.length) } };
	// Not shown: it may be a password. A token here would be seen in the log and by every sidecar that asks this one.
	if (name.includes('@')) throw usage(`${where} must not hold credentials: use --upstream-token-file`);
	try {
		const { isTls, ...address } = parseTcpAddress(name);
		if (!isTls) return { name: formatAddress(address), address };
		// A bad file is a wrong setting; later it is why there is no connection.
		secretsIn(files);
		return { name, address, transport: tlsTransport(() => secretsIn(files)) };
	} catch (cause) {
		const why = cause instanceof RangeError ? 'must be tls://HOST:PORT, HOST:PORT or unix:PATH' : messageOf(cause);
		throw usage(`${where}: ${JSON.stringify(withoutPassword(name, true))}: ${why}`, cause);
	}
}

/** Read and checked for each connection, because they are replaced now and then. Throws an Error that names the file. */
function secretsIn(tls: ConstructorParameters<typeof TlsFiles>[0]['tls']): TlsFiles['secrets'] {
	return new TlsFiles({ tls, clock: systemClock, onEvent: undefined }).secrets;
}

/** The first of the tokens in the file. Throws an Error that names the file. */
function tokenIn(path: string): string {
	const [token] = tokensIn(readFileSync(path, 'utf8'));
	if (token === undefined) throw new Error(`the token file ${path} is empty`);
	return token;
}

function usage(message: string, cause?: unknown): CommandError {
	return new CommandError(EXIT.usage, message, { cause });
}
