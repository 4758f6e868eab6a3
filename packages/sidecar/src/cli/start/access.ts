import { type DiscoveryListener, TlsFiles } from '@spock/discovery';
import { systemClock } from '@spock/protocol/internal';
import { defaultSocketPath, formatAddress, POD_SOCKET_DIRECTORY } from '@spock/protocol/node';
import type { Logger } from 'pino';

import { refuseRemote } from '../../listen/listen.ts';
import type { SidecarListen } from '../../listen/listener.ts';
import { AcceptedTokens, type TokenCheck, TokenFile } from '../../listen/tokens.ts';
import { parseTcpAddress } from '../client/sidecar-target.ts';
import { givenSettings, type Settings } from '../settings/settings.ts';

/** What the settings say of who may connect. */
export interface Access {
	/** The TCP address, if there is one. */
	readonly tcp: SidecarListen | undefined;
	/** For the unix domain socket. */
	readonly socketTokens: TokenCheck | undefined;
	/** For every TCP address. */
	readonly tokens: TokenCheck | undefined;
	/** For the addresses with tls://, of which there is one if this is here. */
	readonly tls: TlsFiles | undefined;
	/** What is dangerous about it, for the log; empty if nothing is. */
	readonly warnings: readonly AccessWarning[];
}

type Risk = 'noTls' | 'open' | 'unusedToken';

const RISKS: Readonly<Record<Risk, string>> = {
	noTls: 'address without TLS; use tls://',
	open: 'address admits every client; require a token',
	unusedToken: 'token set, but no address requires it',
};

/** Something dangerous, and where it is. */
export interface AccessWarning {
	readonly risk: Risk;
	readonly address?: string;
	/** The flag that allows the address. */
	readonly flag?: string;
}

/** Reads the settings and the files that they name. Throws an Error that names what is wrong with them. */
export function accessFrom(settings: Settings, onEvent: DiscoveryListener): Access {
	const [token, path, listen] = [settings.token.value, settings.tokenFile.value, settings.listen.value];
	const [tokenOnSocket, listenAny] = [settings.tokenOnSocket.value, settings.listenAny.value];
	const tokens =
		path !== undefined
			? new TokenFile({ path, clock: systemClock, onEvent })
			: token === undefined
				? undefined
				: new AcceptedTokens([token]);
	if (tokenOnSocket && tokens === undefined) throw new Error('--token-on-socket needs --token-file or SPOCK_TOKEN');
	const socketTokens = tokenOnSocket ? tokens : undefined;
	const files = givenSettings(settings, { certFile: 'tlsCert', keyFile: 'tlsKey', caFile: 'tlsClientCa' });
	const { certFile, keyFile, caFile } = files;
	const hasFiles = Object.keys(files).length > 0;
	const grpc = settings.grpc.value ?? [];
	const tlsAddress = [
		...(listen === undefined ? [] : [`--listen ${listen}`]),
		...grpc.map((one) => `--grpc ${one}`),
	].find((one) => one.includes(' tls://'));
	if (tlsAddress !== undefined && (certFile === undefined || keyFile === undefined)) {
		throw new Error(`${tlsAddress} needs --tls-cert and --tls-key`);
	}
	const tls = tlsAddress === undefined ? undefined : new TlsFiles({ tls: files, clock: systemClock, onEvent });
	if (listen === undefined) {
		if (hasFiles && tls === undefined) {
			throw new Error(
				'--tls-cert, --tls-key and --tls-client-ca are for --listen tls://HOST:PORT and --grpc tls://HOST:PORT',
			);
		}
		const isUsed = tokens === socketTokens || grpc.length > 0;
		return { tcp: undefined, socketTokens, tokens, tls, warnings: isUsed ? [] : [{ risk: 'unusedToken' }] };
	}
	const { host, port, isTls } = parseTcpAddress(listen);
	if (hasFiles && tls === undefined)
		throw new Error(`TLS files are given, but --listen ${listen} is not tls://HOST:PORT`);
	const address = { host, port };
	if (!listenAny) refuseRemote(address);
	const tcp = { address, allowRemote: listenAny, ...(tokens && { tokens }), ...(isTls && tls && { tls }) };
	// Without --listen-any the listener refuses what other machines can reach.
	const warnings = listenAny
		? risksOf({
				flag: '--listen-any',
				address: formatAddress(address),
				isTls,
				isGuarded: tokens !== undefined || caFile !== undefined,
			})
		: [];
	return { tcp, socketTokens, tokens, tls, warnings };
}

/** What is dangerous about an address that other machines can reach. */
export function risksOf({
	isTls,
	isGuarded,
	...where
}: {
	readonly flag: string;
	readonly address: string;
	readonly isTls: boolean;
	/** Whether a token or a client certificate is required. */
	readonly isGuarded: boolean;
}): AccessWarning[] {
	return [
		...(isTls ? [] : [{ risk: 'noTls' as const, ...where }]),
		...(isGuarded ? [] : [{ risk: 'open' as const, ...where }]),
	];
}

/** Logs what is dangerous. */
export function logRisks(log: Logger, warnings: readonly AccessWarning[]): void {
	for (const { risk, ...facts } of warnings) log.warn(facts, RISKS[risk]);
}

/** The path of the socket; undefined where only TCP is asked for. */
export function socketPathOf({ socket, listen }: Settings): string | undefined {
	if (socket.value === undefined && listen.value !== undefined) return undefined;
	return socket.value ?? defaultSocketPath({ env: {}, uid: process.getuid?.() });
}

/** The socket, the TCP address, or both: at least one. */
export function listenAddresses(settings: Settings, { tcp, socketTokens }: Access): SidecarListen[] {
	const isNamed = settings.socket.origin !== 'default';
	const listen: SidecarListen[] = [];
	const path = socketPathOf(settings);
	if (path !== undefined) {
		// Create only the user's private directory, not a pod's volume or a path that was given.
		const privateDirectory = !isNamed && !path.startsWith(`${POD_SOCKET_DIRECTORY}/`);
		listen.push({
			address: { path },
			privateDirectory,
			socketMode: settings.socketMode.value,
			...(socketTokens && { tokens: socketTokens }),
		});
	}
	return tcp === undefined ? listen : [...listen, tcp];
}
