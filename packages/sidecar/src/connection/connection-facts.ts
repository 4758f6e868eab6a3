import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';

import type { RegistrationStatus } from '@spock/protocol';
import { formatAddress } from '@spock/protocol/node';

import { plainAddress } from '../listen/bind.ts';

/** Facts about a connection for the status page; sizes in bytes, counts since it was opened. */
export interface ConnectionFacts extends PeerFacts {
	readonly id: number;
	/** The client's name from its hello; null without one. */
	readonly client: string | null;
	/** Name and version of its library, from its hello; null if it sent none. */
	readonly library: string | null;
	readonly pid: number | null;
	/** By the monotonic clock, in milliseconds. */
	readonly openedAtMs: number;
	/** Subscriptions to services and keys, and those to keys alone. */
	readonly subscriptions: number;
	readonly keys: number;
	/** Grows with each that is added or removed. */
	readonly subscriptionsRevision: number;
	readonly inFlight: number;
	/** Output that the client has not read. */
	readonly outputBytes: number;
	/** True while it is not read, because it has too much unread output. */
	readonly isSlow: boolean;
	/** True while it has missed its heartbeats. */
	readonly isSilent: boolean;
	/** True while its window is narrowed, because the sidecar is overloaded. */
	readonly isNarrowed: boolean;
	/** Subscriptions whose newest answer is too long for its frames. */
	readonly oversize: number;
	readonly requests: number;
	readonly bytesRead: number;
	readonly bytesWritten: number;
}

/** A connection, and what its client holds. */
export interface ClientFacts extends ConnectionFacts {
	/** What it has registered by just this connection. */
	readonly registered: readonly RegistrationStatus[];
}

/** The queries that one client subscribes to, by their keys. */
export interface WatchedFacts {
	readonly services: readonly string[];
	readonly keys: readonly string[];
}

/** Where a connection comes from. */
export interface PeerFacts {
	readonly transport: 'unix' | 'tcp' | 'tls';
	/** The client's host and port; null at a unix socket. */
	readonly address: string | null;
	/** The subject, or an alternative name, in the certificate that the client was asked for and that is trusted; null without one. */
	readonly certificate: string | null;
}

/** The host in the address of a peer: what all connections of one machine have in common, and cannot make up. */
export function hostOf(address: string): string {
	return address.slice(0, address.lastIndexOf(':'));
}

/** See `Caller.share`. */
export function shareOf(app: string | undefined, address: string | null, identity: string | undefined): string {
	if (app !== undefined) return `app ${app}`;
	return address === null ? `client ${identity ?? ''}` : `host ${hostOf(address)}`;
}

/** Reads what a socket knows of its other end. */
export function peerFactsOf(socket: Duplex): PeerFacts {
	const { remoteAddress: host, remotePort: port, authorized, getPeerCertificate } = socket as Partial<TLSSocket>;
	const address = host === undefined ? null : formatAddress({ host: plainAddress(host), port: port ?? 0 });
	if (getPeerCertificate === undefined)
		return { transport: address === null ? 'unix' : 'tcp', address, certificate: null };
	const { subject, subjectaltname } = authorized === true ? getPeerCertificate.call(socket) : {};
	return { transport: 'tls', address, certificate: [subject?.CN ?? subjectaltname].flat()[0] ?? null };
}
