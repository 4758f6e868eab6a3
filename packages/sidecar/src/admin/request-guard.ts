import type { IncomingMessage } from 'node:http';

import { isLoopback, plainAddress } from '../listen/bind.ts';
import { type AdminPage, textPage } from './admin-page.ts';

/** Longest path with its query that is looked at. */
const URL_LENGTH_MAX = 2048;

/** What a {@link RequestGuard} lets in. */
export interface RequestGuardOptions {
	/** The host that the port listens at. */
	readonly host: string;
	/** More names that people reach it by; exact, without a port. */
	readonly allowedHosts: readonly string[];
}

/** The names that the admin port answers to, and what else a request must be. */
export class RequestGuard {
	readonly #hosts: ReadonlySet<string>;

	constructor({ host, allowedHosts }: RequestGuardOptions) {
		this.#hosts = new Set([host, ...allowedHosts].map((name) => hostOf(isBareIpv6(name) ? `[${name}]` : name)));
	}

	/** Why a request is refused; undefined if it is not. */
	refusal(request: IncomingMessage): AdminPage | undefined {
		const { method, url = '/' } = request;
		if (method !== 'GET' && method !== 'HEAD')
			return textPage(405, 'the method must be GET or HEAD\n', { allow: 'GET, HEAD' });
		if (url.length > URL_LENGTH_MAX) return textPage(414, `the path must have at most ${URL_LENGTH_MAX} characters\n`);
		if (!this.#isOurs(request)) {
			const hint = 'use its own address, localhost, or a name of --admin-allowed-hosts';
			return textPage(421, `the admin port does not accept this Host: ${hint}\n`);
		}
		if (isForeign(request)) return textPage(403, 'pages of other sites may only link here: open the address itself\n');
		return undefined;
	}

	/**
	 * A site that a browser shows can give its own name the address of this port (DNS rebinding), and read what it likes: but
	 * the browser then says that name as the host. What names this process by an address of its own cannot be such a site.
	 */
	#isOurs({ headers, socket }: IncomingMessage): boolean {
		// HTTP/1.0 has none, and no browser speaks that.
		if (headers.host === undefined) return true;
		const host = hostOf(headers.host);
		if (host === '') return false;
		const own = hostOf(addressAsHost(socket.localAddress ?? ''));
		return isLoopback(host.replace(/^\[|\]$/g, '')) || host === own || this.#hosts.has(host);
	}
}

/** True for what a page of another site asks for, unless a person follows a link. */
function isForeign({ headers }: IncomingMessage): boolean {
	const site = headers['sec-fetch-site'];
	if (site === undefined || site === 'same-origin' || site === 'none') return false;
	return headers['sec-fetch-mode'] !== 'navigate' || headers['sec-fetch-dest'] !== 'document';
}

/** The address of our end of a connection as a URL writes it; that of IPv4 through a socket of IPv6 is one of IPv4. */
function addressAsHost(address: string): string {
	const plain = plainAddress(address);
	return isBareIpv6(plain) ? `[${plain}]` : plain;
}

function isBareIpv6(name: string): boolean {
	return name.includes(':') && !name.startsWith('[');
}

/** The host of a Host header, in lower case and without a port, addresses in their one form; empty for what is none. */
function hostOf(header: string): string {
	if (!/^[\w.:[\]-]+$/.test(header)) return '';
	try {
		// One dot at the end of a name means the same name.
		return new URL(`http://${header}`).hostname.replace(/\.$/, '');
	} catch {
		// An invalid host is never allowed.
		return '';
	}
}
