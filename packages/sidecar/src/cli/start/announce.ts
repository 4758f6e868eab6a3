import { resolve } from 'node:path';

import type { Backend, LocalBackend } from '@spock/discovery';
import { shellWord } from '@spock/protocol/internal';
import type { Logger } from 'pino';

import { SIDECAR_VERSION } from '../../foundation/version.ts';
import { parseTcpAddress } from '../client/sidecar-target.ts';
import { typedCommand } from '../output/command-name.ts';
import type { Settings } from '../settings/settings.ts';
import { describeBackend } from './create-backend.ts';

/** Says where it listens, what it knows, and how to try it. */
export function announce(
	log: Logger,
	addresses: readonly string[],
	settings: Settings,
	backend: Backend | LocalBackend,
): void {
	log.info({ sidecar: SIDECAR_VERSION, addresses, backend: backend.name }, 'listening');
	if (!('services' in backend)) {
		log.info({ backend: describeBackend(backend) }, 'services come from the backend');
		return;
	}
	const names = backend.services();
	log.info(
		{ services: names },
		names.length === 0 ? 'no services configured; use --services FILE' : 'services configured',
	);
	const [first] = names;
	const command = first === undefined ? undefined : tryItCommand(['get', first], tryItSettings(settings, addresses));
	if (command !== undefined) log.info({ command }, 'try it');
}

/** What decides how a sidecar with these settings is asked, where it listens at these addresses. */
export function tryItSettings(settings: Settings, addresses: readonly string[]): TryItSettings {
	const tokenFile = settings.tokenFile.value;
	return {
		addresses,
		isDefault: settings.socket.origin === 'default' && settings.listen.value === undefined,
		hasToken: tokenFile !== undefined || settings.token.value !== undefined,
		tokenFile,
		tokenOnSocket: settings.tokenOnSocket.value,
	};
}

/** What decides how a sidecar is asked. */
export interface TryItSettings {
	/** Where it listens, as it is shown; the first is asked. */
	readonly addresses: readonly string[];
	/** True if commands without flags find it there. */
	readonly isDefault: boolean;
	readonly hasToken: boolean;
	readonly tokenFile: string | undefined;
	readonly tokenOnSocket: boolean;
}

/** An address that is no path. */
const HOST_AND_PORT = /^[^/]+:\d+$|^tls:\/\//;

/** What JSON, and with it a log line, writes in another way. */
const ESCAPED = /["\\\p{Cc}]/u;

/**
 * A command that asks this sidecar, to be pasted into a shell from a log line; undefined where none works without knowing more, or where a
 * log line would not show it as it is.
 */
export function tryItCommand(words: readonly string[], settings: TryItSettings): string | undefined {
	const { addresses, isDefault, hasToken, tokenFile, tokenOnSocket } = settings;
	const [address = ''] = addresses;
	const isPath = !HOST_AND_PORT.test(address);
	// With TLS it needs the authority's certificate, which only the clients know.
	if (!isPath && !isReachable(address)) return undefined;
	const wantsToken = isPath ? tokenOnSocket : hasToken;
	if (wantsToken && tokenFile === undefined) return undefined;
	const where = isDefault ? [] : [isPath ? '--socket' : '--connect', isPath ? resolve(address) : address];
	const token = wantsToken && tokenFile !== undefined ? ['--token-file', resolve(tokenFile)] : [];
	const command = [typedCommand(), ...[...words, ...where, ...token].map(shellWord)].join(' ');
	return ESCAPED.test(command) ? undefined : command;
}

function isReachable(address: string): boolean {
	const { host, isTls } = parseTcpAddress(address);
	// All addresses of the machine are none to connect to.
	return !isTls && host !== '0.0.0.0' && host !== '::';
}
