import type { Backend, LocalBackend } from '@spock/discovery';
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
	if (first === undefined) return;
	const tokenFile = settings.tokenFile.value;
	const command = tryItCommand(first, {
		addresses,
		isDefault: settings.socket.origin === 'default' && settings.listen.value === undefined,
		hasToken: tokenFile !== undefined || settings.token.value !== undefined,
		tokenFile,
		tokenOnSocket: settings.tokenOnSocket.value,
	});
	if (command !== undefined) log.info({ command }, 'try it');
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

/** A command that looks a service up, to be pasted into a shell; undefined where none works without knowing more. */
export function tryItCommand(service: string, settings: TryItSettings): string | undefined {
	const { addresses, isDefault, hasToken, tokenFile, tokenOnSocket } = settings;
	const [address = ''] = addresses;
	const isPath = address.startsWith('/');
	// With TLS it needs the authority's certificate, which only the clients know.
	if (!isPath && !isReachable(address)) return undefined;
	const wantsToken = isPath ? tokenOnSocket : hasToken;
	if (wantsToken && tokenFile === undefined) return undefined;
	const where = isDefault ? '' : isPath ? ` --socket ${address}` : ` --connect ${address}`;
	const token = wantsToken ? ` --token-file ${tokenFile}` : '';
	return `${typedCommand()} get ${service}${where}${token}`;
}

function isReachable(address: string): boolean {
	const { host, isTls } = parseTcpAddress(address);
	// All addresses of the machine are none to connect to.
	return !isTls && host !== '0.0.0.0' && host !== '::';
}
