import { once } from 'node:events';
import { createConnection, type Socket } from 'node:net';
import { checkServerIdentity, connect as connectTls, type PeerCertificate } from 'node:tls';
import type { ServiceAddress } from '@spock/client';
import { type ConnectionTarget, sniOf } from '@spock/client/integrations';
import { systemClock } from '@spock/protocol/internal';

import type { RedisConnectionOptions } from './options.ts';

/** Begins a connection to an instance, in TLS if the Redis has options for it. */
export function dial(address: ServiceAddress, target: ConnectionTarget, options: RedisConnectionOptions): Socket {
	const { family, tls } = options;
	const place = { host: address.host, port: address.port, ...(family !== undefined && { family }) };
	if (tls === undefined) return createConnection(place);
	const given = tls === true ? {} : tls;
	const name = target.servername(address, given.servername);
	const check = given.checkServerIdentity ?? checkServerIdentity;
	return connectTls({
		...given,
		...place,
		// Empty: none, as an address must not be asked for.
		servername: sniOf(name) ?? '',
		checkServerIdentity: (_host: string, certificate: PeerCertificate) => check(name, certificate),
	});
}

/** Waits until a socket is connected. Rejects with its error, when the time is over (0: never), or when the signal aborts. */
export async function connected(socket: Socket, event: string, timeoutMs: number, signal: AbortSignal): Promise<void> {
	const late = (): unknown => socket.destroy(new Error(`no connection within ${timeoutMs} ms`));
	const timer = timeoutMs > 0 ? systemClock.setTimeout(late, timeoutMs) : undefined;
	try {
		await once(socket, event, { signal });
	} finally {
		systemClock.clearTimeout(timer);
	}
}
