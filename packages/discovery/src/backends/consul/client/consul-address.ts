import { formatHostPort, withBrackets } from '@spock/protocol/internal';

/** One Consul HTTP endpoint. */
export interface ConsulAddress {
	/** As people write it, without credentials: `http://127.0.0.1:8500`, `unix:///run/consul.sock`. */
	readonly url: string;
	readonly secure: boolean;
	readonly host: string;
	readonly port: number;
	/** Path of a unix domain socket, instead of host and port. */
	readonly socketPath?: string;
}

/** The port of an address that is a name alone. */
const DEFAULT_PORT = 8500;

/**
 * Reads `host` (port 8500), `host:port`, `http://host:port`, `https://host` (port 443), or `unix:///path`; an address of IPv6 in
 * brackets, or without them as in `http://$(HOST_IP):8500`. With `secure`
 * (CONSUL_HTTP_SSL) an address is https even where it says http: as in Consul's own client, TLS that was asked for is
 * never given up. Throws a TypeError that shows the text.
 * Source: https://developer.hashicorp.com/consul/commands#consul_http_addr
 */
export function parseConsulAddress(text: string, secure = false): ConsulAddress {
	const trimmed = text.trim();
	if (trimmed.startsWith('unix://')) {
		const socketPath = trimmed.slice('unix://'.length);
		if (!socketPath.startsWith('/')) throw invalid(text);
		return { url: trimmed, secure: false, host: 'localhost', port: 0, socketPath };
	}
	const hasScheme = /^[a-z][a-z0-9+.-]*:\/\//i.test(trimmed);
	const withScheme = withBrackets(hasScheme ? trimmed : `${secure ? 'https' : 'http'}://${trimmed}`);
	// A URL has no place for the zone of an address, which a socket needs.
	const [, zone = ''] = /^[a-z]+:\/\/\[[0-9a-f:.]+(%[^\]]+)\]/i.exec(withScheme) ?? [];
	const withoutZone = withScheme.replace(zone, '');
	if (!URL.canParse(withoutZone)) throw invalid(text);
	const url = new URL(withoutZone);
	const isHttp = url.protocol === 'http:' || url.protocol === 'https:';
	if (!isHttp || url.hostname === '' || (url.pathname !== '/' && url.pathname !== '') || url.search !== '') {
		throw invalid(text);
	}
	if (url.username !== '' || url.password !== '') {
		throw new TypeError('a Consul address must not hold credentials: use a token, or a token file');
	}
	const isSecure = secure || url.protocol === 'https:';
	// Read from the text, because URL leaves out a port that is the scheme's own.
	const explicitPort = /:(\d+)\/?$/.exec(withoutZone)?.[1];
	const schemePort = url.protocol === 'https:' ? 443 : 80;
	const port = explicitPort !== undefined ? Number(explicitPort) : hasScheme ? schemePort : DEFAULT_PORT;
	const host = `${url.hostname.replace(/^\[|\]$/g, '')}${zone}`;
	return { url: `${isSecure ? 'https' : 'http'}://${formatHostPort({ host, port })}`, secure: isSecure, host, port };
}

function invalid(text: string): TypeError {
	// What stands before an @ may be a password.
	const shown = text.replace(/\/\/[^/@]*@/, '//***@');
	return new TypeError(`not a Consul address: ${JSON.stringify(shown)}; expected http://HOST:PORT or unix:///PATH`);
}
