import { type ConnectionOptions, checkServerIdentity, type PeerCertificate } from 'node:tls';
import type { ServiceAddress } from '@spock/client';
import { type ConnectionTarget, sniOf } from '@spock/client/integrations';

/**
 * TLS options for one connection, where the server is known only once the connection is made: pg copies them right before
 * the handshake. pg itself would take its own `host` for the server's name.
 */
export function tlsOfInstance(
	ssl: true | ConnectionOptions,
	target: ConnectionTarget,
	address: () => ServiceAddress,
): ConnectionOptions {
	const given = ssl === true ? {} : ssl;
	const name = (): string => target.servername(address(), given.servername);
	const check = given.checkServerIdentity ?? checkServerIdentity;
	return Object.defineProperties({ ...given } as ConnectionOptions, {
		host: { enumerable: true, get: name },
		servername: { enumerable: true, get: () => sniOf(name()) },
		// A host in a connection string goes before both; the certificate must be the instance's all the same.
		checkServerIdentity: {
			enumerable: true,
			value: (_host: string, certificate: PeerCertificate) => check(name(), certificate),
		},
		...('key' in given && { key: { enumerable: false, value: given.key } }),
	});
}
