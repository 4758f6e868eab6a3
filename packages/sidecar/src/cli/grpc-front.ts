import { formatAddress } from '@spock/protocol/node';
import type { Logger } from 'pino';

import type { FrontOptions } from '../front.ts';
import { refuseRemote } from '../server/listener.ts';
import type { SidecarListen } from '../sidecar-options.ts';
import type { Access } from './access-settings.ts';
import { integerOf, type Settings } from './setting-values.ts';
import { parseTcpAddress } from './tcp-address.ts';

/**
 * The gRPC front that is asked for; undefined if none is, and then nothing of gRPC is loaded. Throws an Error that names what is wrong
 * with an address.
 */
export async function grpcFrontOf(settings: Settings, access: Access, log: Logger): Promise<FrontOptions | undefined> {
	const addresses = settings.get('grpc')?.value as readonly string[] | undefined;
	if (addresses === undefined) return undefined;
	const listen = addresses.map((address) => listenAt(address, settings, access, log));
	const { GrpcFront } = await import('../grpc/grpc-front.ts');
	return { listen, create: (context) => new GrpcFront(context) };
}

function listenAt(text: string, settings: Settings, { tokens, socketTokens }: Access, log: Logger): SidecarListen {
	const path = /^unix:(?:\/\/)?(.+)$/.exec(text)?.[1] ?? (text.startsWith('/') ? text : undefined);
	if (path !== undefined) {
		const socketMode = integerOf(settings, 'socketMode');
		return {
			address: { path },
			...(socketMode !== undefined && { socketMode }),
			...(socketTokens && { tokens: socketTokens }),
		};
	}
	const { host, port, isTls } = parseTcpAddress(text);
	if (isTls) throw new Error(`--grpc ${text}: gRPC is not served by TLS here; use a unix domain socket, or a proxy`);
	const address = { host, port };
	const allowRemote = settings.get('grpcAny')?.value === true;
	if (!allowRemote) {
		const hint = 'listen on 127.0.0.1, or allow it with --grpc-any, together with --token-file';
		refuseRemote(address, hint);
	} else {
		log.warn(`gRPC at ${formatAddress(address)} speaks without TLS: who is on the way can read and change everything`);
		if (tokens === undefined) {
			log.warn(
				`gRPC at ${formatAddress(address)} lets everybody in who can reach it: give --token-file, or remove --grpc-any`,
			);
		}
	}
	return { address, allowRemote, ...(tokens && { tokens }) };
}

/** Says where it speaks gRPC, if it does. */
export function announceGrpc(log: Logger, addresses: readonly string[]): void {
	if (addresses.length > 0) log.info({ addresses }, `gRPC at ${addresses.join(' and ')}`);
}
