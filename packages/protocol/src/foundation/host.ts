/** Longest host of an instance: a DNS name has at most 253 characters. */
export const HOST_LENGTH_MAX = 253;

/** A plain name whose last label is no number: for these a URL has no rules of its own. */
const PLAIN_NAME = /^(?:[A-Za-z0-9_](?:[A-Za-z0-9_-]*[A-Za-z0-9_])?\.)*[A-Za-z_](?:[A-Za-z0-9_-]*[A-Za-z0-9_])?\.?$/;
const IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?=\d)|$)){4}$/;
/** The zone of a link-local address has no place in a URL, and is good for a socket: RFC 4007 section 11. */
const ZONE = /%[0-9A-Za-z.:-]+$/;
/** All that an address of IPv6 is made of: of other characters a URL takes some for a user and a password. */
const IPV6_CHARACTERS = /^[0-9A-Fa-f:.]+$/;
/** Names in Punycode: Node 20 refuses wrong ones in a URL, Node 24 leaves them as they are. */
const PUNYCODE = /(?:^|\.)xn--/i;
/** Stands for a plain name in disguise. */
const ENDED_BY_HYPHEN = /(?:^|\.)xn--[^.]*-(?:\.|$)/i;
/** What ends a host in a URL, what a URL drops without a word, and what is no part of a name anywhere, lone surrogates among it. */
const NOT_IN_NAMES = /[\s\p{Cc}\p{Cs}\p{Default_Ignorable_Code_Point}/\\?#@<>^|%:[\]"`{}]/u;

/**
 * True for what an instance's host may be: an IP address, or a name that can be looked up and can stand in a URL. Whatever reads
 * instances leaves out those whose host is no host: calls to them would fail as if their caller had made a mistake.
 */
export function isHost(host: unknown): host is string {
	if (typeof host !== 'string' || host === '' || host.length > HOST_LENGTH_MAX) return false;
	if (IPV4.test(host)) return true;
	if (PLAIN_NAME.test(host) && !PUNYCODE.test(host)) return true;
	if (host.includes(':')) {
		const address = host.replace(ZONE, '');
		return IPV6_CHARACTERS.test(address) && hostnameOf(`[${address}]`) !== undefined;
	}
	const hostname = NOT_IN_NAMES.test(host) ? undefined : hostnameOf(host);
	if (hostname === undefined || (PUNYCODE.test(host) && !isPunycode(host))) return false;
	// Such as `1.2` and `0x7f.1`: names to some programs, other addresses than they look like to others.
	return !IPV4.test(hostname);
}

/**
 * The same on every version of Node, because the sidecar's may not be the app's: a name with a letter beyond ASCII in it is checked
 * whole by all of them.
 */
function isPunycode(name: string): boolean {
	return !ENDED_BY_HYPHEN.test(name) && hostnameOf(`\u00fc.${name}`) !== undefined;
}

/** Not by `URL.canParse`: once it is optimised, Node 20 and 22 take a name such as `\u00fc` for bytes that are no UTF-8. */
function hostnameOf(host: string): string | undefined {
	try {
		return new URL(`http://${host}/`).hostname;
	} catch {
		return undefined;
	}
}
