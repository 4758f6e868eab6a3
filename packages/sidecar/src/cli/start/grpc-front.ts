import { formatAddress } from '@spock/protocol/node';
import type { Logger } from 'pino';

import type { FrontOptions } from '../../lifecycle/sidecar-options.ts';
import { isLoopback } from '../../listen/bind.ts';
import { refuseRemote } from '../../listen/listen.ts';
import type { SidecarListen } from '../../listen/listener.ts';
import type { TlsListen } from '../../listen/tls-server.ts';
import { parseTcpAddress, type TcpAddress } from '../client/sidecar-target.ts';
import type { Settings } from '../settings/settings.ts';
import { type Access, logRisks, risksOf } from './access.ts';

/**
 * The gRPC front that is asked for; undefined if none is, and then nothing of gRPC is loaded. Throws an Error that names what is wrong
 * with an address.
 */
export async function grpcFrontOf(settings: Settings, access: Access, log: Logger): Promise<FrontOptions | undefined> {
	const addresses = settings.grpc.value;
	if (addresses === undefined) return undefined;
	const listen = addresses.map((address) => listenAt(address, settings, access, log));
	const { GrpcFront } = await import('../../grpc/grpc-front.ts');
	return { listen, create: (context) => new GrpcFront(context) };
}

function listenAt(text: string, settings: Settings, { tokens, tls, socketTokens }: Access, log: Logger): SidecarListen {
	const path = /^unix:(?:\/\/)?(.+)$/.exec(text)?.[1] ?? (text.startsWith('/') ? text : undefined);
	if (path !== undefined) {
		const socketMode = settings.socketMode.value;
		return { address: { path }, flag: '--grpc', socketMode, ...(socketTokens && { tokens: socketTokens }) };
	}
	const { host, port, isTls } = tcpAddressOf(text);
	const address = { host, port };
	const allowRemote = settings.grpcAny.value;
	if (!allowRemote)
		refuseRemote(address, 'listen on 127.0.0.1, or allow it with --grpc-any, together with tls:// and --token-file');
	else if (!isLoopback(host)) {
		const isGuarded = tokens !== undefined || settings.tlsClientCa.value !== undefined;
		logRisks(log, risksOf({ flag: '--grpc-any', address: formatAddress(address), isTls, isGuarded }));
	}
	// Clients of gRPC insist on being asked for HTTP/2 in the handshake.
	const secure = isTls && tls ? { tls: speakingHttp2(tls) } : {};
	return { address, allowRemote, ...(tokens && { tokens }), ...secure };
}

function tcpAddressOf(text: string): TcpAddress {
	try {
		return parseTcpAddress(text);
	} catch (error) {
		const { message } = error as Error;
		throw new Error(`--grpc: ${message}; or unix:PATH for a socket, tls://HOST:PORT for TLS`, { cause: error });
	}
}

function speakingHttp2(tls: TlsListen): TlsListen {
	return {
		get secrets() {
			return tls.secrets;
		},
		look: async () => tls.look?.(),
		protocols: ['h2'],
	};
}

/** Says where it speaks gRPC, if it does. */
export function announceGrpc(log: Logger, addresses: readonly string[]): void {
	if (addresses.length > 0) log.info({ addresses }, 'gRPC listening');
}
