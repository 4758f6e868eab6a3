import { readFileSync } from 'node:fs';
import { connect as connectSocket, type Socket } from 'node:net';

import {
	assertSocketPathFits,
	assertTrustedAddress,
	defaultSocketAddress,
	formatAddress,
	parseHostPort,
	type SocketAddress,
} from '@spock/protocol/node';

import { tokensIn } from '../../listen/tokens.ts';
import { CommandError, EXIT } from '../output/output.ts';
import { durationMessage, readDurationMs } from '../settings/setting.ts';

/** Flags for the address of the sidecar and the access to it. */
export interface TargetFlags {
	readonly socket?: string;
	readonly connect?: string;
	readonly tokenFile?: string;
	readonly tlsCa?: string;
	readonly tlsCert?: string;
	readonly tlsKey?: string;
}

/** Flags of every command that talks to a sidecar. */
export interface ClientFlags extends TargetFlags {
	/** Default {@link DEFAULT_TIMEOUT}. */
	readonly timeout?: string;
	readonly json?: boolean;
}

const DEFAULT_TIMEOUT = '5s';

/** The time limit that the flags name, in milliseconds. */
export function timeoutOf({ timeout = DEFAULT_TIMEOUT }: Pick<ClientFlags, 'timeout'>): number {
	const timeoutMs = readDurationMs(timeout);
	if (timeoutMs) return timeoutMs;
	const message =
		timeoutMs === 0
			? `--timeout must be at least 1 ms, not ${JSON.stringify(timeout)}`
			: durationMessage('--timeout', timeout);
	throw new CommandError(EXIT.usage, message);
}

/** A sidecar to connect to. */
export interface SidecarTarget {
	/** For messages. */
	readonly name: string;
	readonly transport: 'unix' | 'tcp' | 'tls';
	readonly address: SocketAddress;
	/** For hello, if the sidecar requires one. */
	readonly token: string | undefined;
	/** Opens a connection, which is established when it emits `connected`. Throws for a directory that others may write to. */
	open(): { readonly socket: Socket; readonly connected: 'connect' | 'secureConnect' };
}

/** The sidecar that the flags name, else the one at the default address. Throws a CommandError. */
export function targetOf(flags: TargetFlags): SidecarTarget {
	const { env } = process;
	const { socket, connect } = flags;
	if (socket !== undefined && connect !== undefined) {
		throw new CommandError(EXIT.usage, 'give either --socket or --connect');
	}
	try {
		const tokenFrom = flags.tokenFile === undefined ? 'SPOCK_TOKEN_FILE' : '--token-file';
		const token = readingFile(tokenFrom, () => tokenOf(flags.tokenFile ?? env['SPOCK_TOKEN_FILE'], env['SPOCK_TOKEN']));
		if (connect !== undefined) {
			const { isTls, ...address } = parseTcpAddress(connect);
			return isTls ? tlsTarget(address, token, flags) : plainTarget(address, token);
		}
		const address = socket === undefined ? defaultSocketAddress({ env, uid: process.getuid?.() }) : { path: socket };
		assertSocketPathFits(address.path, process.platform);
		return plainTarget(address, token);
	} catch (error) {
		throw new CommandError(EXIT.usage, (error as Error).message, { cause: error });
	}
}

/** Without TLS. */
export function plainTarget(address: SocketAddress, token: string | undefined): SidecarTarget {
	return {
		name: formatAddress(address),
		transport: 'path' in address ? 'unix' : 'tcp',
		address,
		token,
		open: () => {
			assertTrustedAddress(address, process.getuid?.());
			return { socket: connectSocket(address), connected: 'connect' };
		},
	};
}

function tlsTarget(
	address: { readonly host: string; readonly port: number },
	token: string | undefined,
	flags: TargetFlags,
): SidecarTarget {
	// Not the variables of the sidecar's own certificate, because commands run in its container too.
	const { SPOCK_CONNECT_CA, SPOCK_CONNECT_CERT, SPOCK_CONNECT_KEY } = process.env;
	const read = (flag: string, given: string | undefined, variable: string, fallback: string | undefined) => {
		const path = given ?? fallback;
		const from = given === undefined ? variable : flag;
		return path ? readingFile(from, () => readFileSync(path, 'utf8')) : undefined;
	};
	const ca = read('--tls-ca', flags.tlsCa, 'SPOCK_CONNECT_CA', SPOCK_CONNECT_CA);
	const cert = read('--tls-cert', flags.tlsCert, 'SPOCK_CONNECT_CERT', SPOCK_CONNECT_CERT);
	const key = read('--tls-key', flags.tlsKey, 'SPOCK_CONNECT_KEY', SPOCK_CONNECT_KEY);
	const secrets = { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) };
	return {
		name: `tls://${formatAddress(address)}`,
		transport: 'tls',
		address,
		token,
		open: () => {
			// Loaded for TLS alone, which few commands use.
			const { connect } = process.getBuiltinModule('node:tls');
			return { socket: connect({ ...address, ...secrets, minVersion: 'TLSv1.2' }), connected: 'secureConnect' };
		},
	};
}

/** Returns what `read` returns. Throws an Error that names the flag or variable if the file cannot be read. */
function readingFile<T>(from: string, read: () => T): T {
	try {
		return read();
	} catch (cause) {
		const { code, message } = cause as NodeJS.ErrnoException;
		if (code === undefined) throw cause;
		throw new Error(`the file of ${from} cannot be read: ${message}`, { cause });
	}
}

/** The first of the tokens in the file: while they are exchanged the sidecar accepts both. */
export function tokenOf(path: string | undefined, fromEnvironment: string | undefined): string | undefined {
	if (path === undefined || path === '') return fromEnvironment?.trim() || undefined;
	const [token] = tokensIn(readFileSync(path, 'utf8'));
	if (token === undefined) throw new Error(`the token file ${path} is empty`);
	return token;
}

/** A TCP address as settings and flags name it. */
export interface TcpAddress {
	readonly host: string;
	readonly port: number;
	readonly isTls: boolean;
}

/** Reads `HOST:PORT`, `tcp://HOST:PORT` or `tls://HOST:PORT`. Throws a RangeError that shows the text. */
export function parseTcpAddress(text: string): TcpAddress {
	const [, scheme, rest = text] = /^(tcp|tls):\/\/(.*)$/.exec(text) ?? [];
	return { ...parseHostPort(rest), isTls: scheme === 'tls' };
}
