import { formatAddress } from '@spock/protocol/node';
import type { Logger } from 'pino';

import type { FrontOptions } from '../../lifecycle/front.ts';
import { isLoopback } from '../../listen/bind.ts';
import { refuseRemote } from '../../listen/listen.ts';
import type { SidecarListen } from '../../listen/listener.ts';
import type { TlsListen } from '../../listen/tls-server.ts';
import { parseTcpAddress, type TcpAddress } from '../client/sidecar-target.ts';
import { integerOf, type Settings } from '../settings/setting.ts';
import type { Access } from './access.ts';

/**
 * The gRPC front that is asked for; undefined if none is, and then nothing of gRPC is loaded. Throws an Error that names what is wrong
 * with an address.
 */
export async function grpcFrontOf(settings: Settings, access: Access, log: Logger): Promise<FrontOptions | undefined> {
	const addresses = settings.get('grpc')?.value as readonly string[] | undefined;
	if (addresses === undefined) return undefined;
	const listen = addresses.map((address) => listenAt(address, settings, access, log));
	const { GrpcFront } = await import('../../grpc/grpc-front.ts');
	return { listen, create: (context) => new GrpcFront(context) };
}

function listenAt(text: string, settings: Settings, { tokens, tls, socketTokens }: Access, log: Logger): SidecarListen {
	const path = /^unix:(?:\/\/)?(.+)$/.exec(text)?.[1] ?? (text.startsWith('/') ? text : undefined);
	if (path !== undefined) {
		const socketMode = integerOf(settings, 'socketMode');
		return {
			address: { path },
			flag: '--grpc',
			...(socketMode !== undefined && { socketMode }),
			...(socketTokens && { tokens: socketTokens }),
		};
	}
	const { host, port, isTls } = tcpAddressOf(text);
	const address = { host, port };
	const allowRemote = settings.get('grpcAny')?.value === true;
	if (!allowRemote)
		refuseRemote(address, 'listen on 127.0.0.1, or allow it with --grpc-any, together with tls:// and --token-file');
	else if (!isLoopback(host)) warn(formatAddress(address), isTls, tokens !== undefined || hasClientCa(settings), log);
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

function hasClientCa(settings: Settings): boolean {
	return settings.get('tlsClientCa')?.value !== undefined;
}

function warn(address: string, isTls: boolean, isGuarded: boolean, log: Logger): void {
	if (!isTls) log.warn(`gRPC at ${address} speaks without TLS: who is on the way can read and change everything`);
	if (!isGuarded) {
		log.warn(`gRPC at ${address} lets everybody in who can reach it: give --token-file, or remove --grpc-any`);
	}
}

/** Says where it speaks gRPC, if it does. */
export function announceGrpc(log: Logger, addresses: readonly string[]): void {
	if (addresses.length > 0) log.info({ addresses }, `gRPC at ${addresses.join(' and ')}`);
}
