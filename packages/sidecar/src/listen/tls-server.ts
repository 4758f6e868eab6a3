import type { Server, Socket } from 'node:net';

import type { Clock, TimerHandle } from '@spock/protocol/internal';
import { formatAddress } from '@spock/protocol/node';

import type { TlsFailure } from '../foundation/observer.ts';
import type { Strangers } from '../overload/admission.ts';
import { plainAddress } from './bind.ts';

/**
 * For every TCP server: a peer whose machine is gone is found by the kernel, in some 20 s where nothing waits to be sent (libuv asks
 * ten times, a second apart: https://docs.libuv.org/en/v1.x/tcp.html#c.uv_tcp_keepalive).
 */
export const KEEP_ALIVE = { keepAlive: true, keepAliveInitialDelay: 10_000 };

/** How often it is looked whether the secrets have changed. */
const LOOK_MS = 5000;

/** PEM texts of a listener. With `ca` every client must have a certificate of one of these authorities. */
export interface TlsListenSecrets {
	readonly ca?: string;
	readonly cert?: string;
	readonly key?: string;
}

/** The source of a listener's secrets, and the receiver of its failures. */
export interface TlsListen {
	/** The secrets in force: the very same object until they change. */
	readonly secrets: TlsListenSecrets;
	/** Protocols to agree on in the handshake (ALPN): clients of HTTP/2 want that. Default: none is spoken of. */
	readonly protocols?: readonly string[];
	/** Looks whether they have changed. Never rejects. */
	look?(): Promise<void>;
}

/** What a {@link createTlsServer} needs. */
export interface TlsServerOptions {
	readonly tls: TlsListen;
	readonly clock: Clock;
	/** Until the handshake is done. */
	readonly handshakeMs: number;
	/** Connections at once, but for `strangers`. */
	readonly connectionsMax: number;
	/** Those that still shake hands are among them; the oldest makes room. */
	readonly strangers: Strangers;
	readonly accept: (socket: Socket) => void;
	readonly failed: (reason: TlsFailure) => void;
	/** One was over `connectionsMax`. */
	readonly refused: () => void;
}

/** A server whose connections speak TLS 1.2 or later, and whose certificate may be replaced while it runs. */
export async function createTlsServer(options: TlsServerOptions): Promise<{ server: Server; stop(): void }> {
	const { tls, clock, strangers, accept, failed, refused } = options;
	// Loaded only here: most sidecars listen at a socket.
	const { createServer } = await import('node:tls');
	let inForce = tls.secrets;
	/** By address: the connection that a handshake makes does not know the one below it. */
	const shaking = new Map<string, Socket>();
	const wantsCertificate = inForce.ca !== undefined;
	const server = createServer(
		{
			...inForce,
			minVersion: 'TLSv1.2',
			requestCert: wantsCertificate,
			rejectUnauthorized: wantsCertificate,
			handshakeTimeout: options.handshakeMs,
			noDelay: true,
			...KEEP_ALIVE,
			...(tls.protocols && { ALPNProtocols: [...tls.protocols] }),
		},
		(socket) => {
			// Not from the start: a client that ends its side within the handshake would be waited for in vain.
			socket.allowHalfOpen = true;
			const peer = peerOf(socket);
			const raw = shaking.get(peer);
			if (raw !== undefined) strangers.delete(raw);
			shaking.delete(peer);
			accept(socket);
		},
	);
	server.maxConnections = options.connectionsMax + strangers.countMax;
	server.on('connection', (socket: Socket) => {
		const peer = peerOf(socket);
		shaking.set(peer, socket);
		strangers.add(socket, () => socket.destroy());
		socket.once('close', () => {
			strangers.delete(socket);
			if (shaking.get(peer) === socket) shaking.delete(peer);
		});
	});
	server.on('drop', refused);
	server.on('tlsClientError', (error, socket) => {
		// Node drops a client whose certificate it does not trust, and calls that a reset.
		failed(socket.authorizationError ? 'bad-certificate' : failureOf(error));
		socket.destroy();
	});
	let timer: TimerHandle | undefined;
	const arm = (): void => {
		timer = clock.setTimeout(() => {
			void tls.look?.().then(() => {
				if (tls.secrets !== inForce) {
					inForce = tls.secrets;
					server.setSecureContext({ ...inForce, minVersion: 'TLSv1.2' });
				}
				if (timer !== undefined) arm();
			});
		}, LOOK_MS);
		timer.unref?.();
	};
	if (tls.look !== undefined) arm();
	return {
		server,
		stop: () => {
			clock.clearTimeout(timer);
			timer = undefined;
		},
	};
}

function peerOf({ remoteAddress, remotePort }: Socket): string {
	return formatAddress({ host: plainAddress(remoteAddress ?? ''), port: remotePort ?? 0 });
}

function failureOf(error: Error): TlsFailure {
	const { code = '' } = error as NodeJS.ErrnoException;
	if (/WRONG_VERSION_NUMBER|HTTP_REQUEST|PACKET_LENGTH|UNEXPECTED_MESSAGE|BAD_RECORD/.test(code)) return 'not-tls';
	if (/UNSUPPORTED_PROTOCOL|VERSION_TOO_LOW|PROTOCOL_VERSION/.test(code)) return 'version';
	if (/DID_NOT_RETURN_A_CERTIFICATE/.test(code)) return 'no-certificate';
	if (/ALERT/.test(code)) return 'refused-by-client';
	if (/CERT|SIGNATURE/.test(code)) return 'bad-certificate';
	if (code === 'ERR_TLS_HANDSHAKE_TIMEOUT') return 'timeout';
	return code === 'ECONNRESET' || code === 'EPIPE' ? 'closed' : 'other';
}
