import { parseHostPort } from '@spock/protocol/node';

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
