import type { Backend, LocalBackend } from '@spock/discovery';
import type { Logger } from 'pino';

import { SIDECAR_VERSION } from '../../foundation/version.ts';
import { type Settings, textOf } from '../settings/setting-values.ts';
import { describeBackend } from './backend-list.ts';
import { tryItCommand } from './try-it.ts';

/** Says where it listens, what it knows, and how to try it. */
export function announce(
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
	const tokenFile = textOf(settings, 'tokenFile');
	const command = tryItCommand(first, {
		addresses,
		isDefault: settings.get('socket')?.origin === 'default' && textOf(settings, 'listen') === undefined,
		hasToken: tokenFile !== undefined || textOf(settings, 'token') !== undefined,
		tokenFile,
		tokenOnSocket: settings.get('tokenOnSocket')?.value === true,
	});
	if (command !== undefined) log.info(`try it: ${command}`);
}
