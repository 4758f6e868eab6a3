import { Resolver } from 'node:dns';
import { isIP } from 'node:net';

import { type Clock, stringOption } from '@spock/protocol/internal';

/** A name server. */
export interface DnsServer {
	/** An IP address, with its zone where it is link-local. */
	readonly host: string;
	readonly port: number;
}

/** The port of name servers: RFC 1035. */
const DNS_PORT = 53;
/** A list that may change is read no more often than this, and sooner only after a failure. */
const READ_AGAIN_MS = 5000;

/** The servers of /etc/resolv.conf as it is now: a resolver reads it when it is made, and the one of the process once. */
export function systemServers(): readonly string[] {
	return new Resolver().getServers();
}

/** The name servers to ask, in order. A list that may change, such as that of /etc/resolv.conf, is read again now and then. */
export class DnsServers {
	readonly #read: (() => readonly string[]) | undefined;
	readonly #clock: Clock;
	#texts: string;
	#servers: readonly DnsServer[];
	#againAtMs: number;

	/** Throws a TypeError for a server that is no address. */
	constructor(servers: readonly string[] | (() => readonly string[]), clock: Clock) {
		const given = typeof servers === 'function' ? servers() : servers;
		this.#read = typeof servers === 'function' ? servers : undefined;
		this.#clock = clock;
		this.#texts = given.join();
		this.#servers = parseServers(given);
		this.#againAtMs = clock.now() + READ_AGAIN_MS;
	}

	/** Those that are asked now. */
	get current(): readonly DnsServer[] {
		return this.#servers;
	}

	/** The servers for a question: the same list while nothing has changed. Throws a TypeError for one that is no address, as above. */
	get(): readonly DnsServer[] {
		const nowMs = this.#clock.now();
		if (this.#read === undefined || nowMs < this.#againAtMs) return this.#servers;
		const given = this.#read();
		if (given.length > 0 && given.join() !== this.#texts) {
			this.#servers = parseServers(given);
			this.#texts = given.join();
		}
		this.#againAtMs = nowMs + READ_AGAIN_MS;
		return this.#servers;
	}

	/** No server has answered: perhaps there are others by now. */
	failed(): void {
		this.#againAtMs = 0;
	}
}

/** `host:port`, with brackets round an IPv6 address. */
export function formatServer({ host, port }: DnsServer): string {
	return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

function parseServers(texts: readonly string[]): readonly DnsServer[] {
	if (texts.length === 0) throw new TypeError('servers must name at least one name server');
	return texts.map((text, number) => parseServer(`servers[${number}]`, text));
}

/** Reads an IP address with or without a port. A name would need a name server to be found. */
function parseServer(name: string, text: string): DnsServer {
	const match = /^(?:\[([^[\]]+)\]|([0-9.]+))(?::(\d{1,5}))?$/i.exec(stringOption(name, text));
	const host = isIP(text) > 0 ? text : (match?.[1] ?? match?.[2]);
	const port = isIP(text) > 0 || match?.[3] === undefined ? DNS_PORT : Number(match[3]);
	const isBracketed = match?.[1] !== undefined;
	if (host === undefined || isIP(host) === 0 || (isBracketed && isIP(host) !== 6) || port < 1 || port > 65_535) {
		throw new TypeError(`${name} must be an IP address, with or without a port, not ${JSON.stringify(text)}`);
	}
	return Object.freeze({ host, port });
}
