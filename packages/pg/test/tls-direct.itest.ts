import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer, type TLSSocket } from 'node:tls';
import { makeAuthority, tcpListener } from '@spock/testkit';
import { expect, it } from 'vitest';

import { connect, diplomatTo, type Place, SERVICE } from './instances.ts';

const authority = makeAuthority();
const direct = { sslnegotiation: 'direct' as const, ssl: { ca: authority.ca } };
/** AuthenticationOk and ReadyForQuery, outside of a transaction. */
const READY = Buffer.from('520000000800000000' + '5a0000000549', 'hex');

/** What one connection said of itself. */
interface Hello {
	readonly protocol: TLSSocket['alpnProtocol'];
	readonly servername: unknown;
	readonly startup: Buffer;
}

/**
 * A server as PostgreSQL 17 is to `sslnegotiation=direct`: the TLS handshake comes first, without a request for it, and must
 * name the protocol (https://www.postgresql.org/docs/17/protocol-flow.html#PROTOCOL-FLOW-SSL).
 */
async function directServer(): Promise<Place & { readonly hellos: readonly Hello[]; close(): void }> {
	const hellos: Hello[] = [];
	const tls = authority.issue({ names: ['localhost', '127.0.0.1'] });
	const server = createServer({ ...tls, ALPNProtocols: ['postgresql'] }, (socket) => {
		socket.on('error', () => undefined);
		socket.once('data', (startup) => {
			const { alpnProtocol: protocol } = socket;
			hellos.push({ protocol, servername: (socket as { servername?: unknown }).servername, startup });
			socket.write(READY);
		});
	});
	server.listen(0, '127.0.0.1');
	await once(server, 'listening');
	const { port } = server.address() as AddressInfo;
	return { host: '127.0.0.1', port, hellos, close: () => server.close() };
}

it.each([
	['127.0.0.1', undefined, false],
	['localhost', undefined, 'localhost'],
	['127.0.0.1', 'localhost', 'localhost'],
])('direct TLS to the host %s, with the server name %s', async (host, servername, asked) => {
	const server = await directServer();
	await using diplomat = await diplomatTo({ host, port: server.port });
	const client = await connect(diplomat, direct, servername);
	expect(server.hellos).toMatchObject([{ protocol: 'postgresql', servername: asked }]);
	expect(server.hellos[0]?.startup.toString('latin1')).toContain('user\0postgres\0');
	await client.end();
	server.close();
});

it('direct TLS with a certificate for another name: an error that names the service', async () => {
	const server = await directServer();
	await using diplomat = await diplomatTo(server);
	const error = await connect(diplomat, direct, 'db.example').catch((reason: unknown) => reason);
	expect(error).toMatchObject({
		code: 'UNAVAILABLE',
		details: { service: SERVICE, instance: 'db-0' },
		cause: { code: 'ERR_TLS_CERT_ALTNAME_INVALID' },
	});
	expect(server.hellos).toEqual([]);
	server.close();
});

it('direct TLS to a server that does not know it, which hangs up: an error that names the service', async () => {
	const first: Buffer[] = [];
	const before17 = await tcpListener((socket) => {
		socket.once('data', (data) => {
			first.push(data);
			socket.end();
		});
	});
	await using diplomat = await diplomatTo(before17);
	await expect(connect(diplomat, direct)).rejects.toMatchObject({ code: 'UNAVAILABLE', details: { service: SERVICE } });
	// The first byte of a TLS handshake (RFC 8446, section 5.1), and no SSLRequest.
	expect(first[0]?.[0]).toBe(22);
	before17.close();
});
