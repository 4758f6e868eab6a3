import { defaultSocketPath, POD_SOCKET_DIRECTORY } from '@spock/protocol/node';

import type { SidecarListen } from '../../lifecycle/sidecar-options.ts';
import type { Access } from '../settings/access-settings.ts';
import { integerOf, type Settings, textOf } from '../settings/setting-values.ts';

/** The socket, the TCP address, or both: at least one. */
export function listenAddresses(settings: Settings, { tcp, socketTokens }: Access): SidecarListen[] {
	const named = textOf(settings, 'socket');
	const isNamed = settings.get('socket')?.origin !== 'default';
	const listen: SidecarListen[] = [];
	if (isNamed || tcp === undefined) {
		const path = named ?? defaultSocketPath({ env: {}, uid: process.getuid?.() });
		const socketMode = integerOf(settings, 'socketMode');
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
