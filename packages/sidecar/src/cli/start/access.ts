import { type DiscoveryListener, TlsFiles } from '@spock/discovery';
import { systemClock } from '@spock/protocol/internal';
import { defaultSocketPath, formatAddress, POD_SOCKET_DIRECTORY } from '@spock/protocol/node';

import { refuseRemote } from '../../listen/listen.ts';
import type { SidecarListen } from '../../listen/listener.ts';
import { AcceptedTokens, type TokenCheck, TokenFile } from '../../listen/tokens.ts';
import { parseTcpAddress } from '../client/sidecar-target.ts';
import { integerOf, type Settings, textOf } from '../settings/setting.ts';

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
	readonly warnings: readonly string[];
}

const UNUSED_TOKEN =
	'a token is given, and nobody has to show it: the socket wants one with --token-on-socket, and a port is there with --listen';

/** Reads the settings and the files that they name. Throws an Error that names what is wrong with them. */
export function accessFrom(settings: Settings, onEvent: DiscoveryListener): Access {
	const text = (name: string): string | undefined => settings.get(name)?.value as string | undefined;
	const is = (name: string): boolean => settings.get(name)?.value === true;
	const [token, path, listen] = [text('token'), text('tokenFile'), text('listen')];
	const tokens =
		path !== undefined
			? new TokenFile({ path, clock: systemClock, onEvent })
			: token === undefined
				? undefined
				: new AcceptedTokens([token]);
	if (is('tokenOnSocket') && tokens === undefined)
		throw new Error('--token-on-socket needs --token-file or SPOCK_TOKEN');
	const socketTokens = is('tokenOnSocket') ? tokens : undefined;
	const [certFile, keyFile, caFile] = [text('tlsCert'), text('tlsKey'), text('tlsClientCa')];
	const hasFiles = certFile !== undefined || keyFile !== undefined || caFile !== undefined;
	const files = { ...(certFile && { certFile }), ...(keyFile && { keyFile }), ...(caFile && { caFile }) };
	const grpc = (settings.get('grpc')?.value ?? []) as readonly string[];
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
		return { tcp: undefined, socketTokens, tokens, tls, warnings: isUsed ? [] : [UNUSED_TOKEN] };
	}
	const { host, port, isTls } = parseTcpAddress(listen);
	if (hasFiles && tls === undefined) throw new Error(`the TLS files are given, and --listen ${listen} is not tls://`);
	const address = { host, port };
	if (!is('listenAny')) refuseRemote(address);
	const tcp = { address, allowRemote: is('listenAny'), ...(tokens && { tokens }), ...(isTls && tls && { tls }) };
	// Without --listen-any the listener refuses what other machines can reach.
	const warnings = is('listenAny')
		? warningsOf(formatAddress(address), isTls, tokens !== undefined || caFile !== undefined)
		: [];
	return { tcp, socketTokens, tokens, tls, warnings };
}

function warningsOf(address: string, isTls: boolean, isGuarded: boolean): string[] {
	return [
		...(isTls ? [] : [`${address} speaks without TLS: who is on the way can read and change everything; use tls://`]),
		...(isGuarded
			? []
			: [
					`${address} lets everybody in who can reach it: give --token-file or --tls-client-ca, or remove --listen-any`,
				]),
	];
}

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
