import { createSocket } from 'node:dgram';
import { connect, isIPv6 } from 'node:net';

import { type Clock, messageOf, offAbort, onAbort, systemClock } from '@spock/protocol/internal';

import type { DnsReply } from './dns-message.ts';
import type { DnsServer } from './dns-servers.ts';

/** One message to one server, and how to tell its answer from anything else. */
export interface DnsExchange {
	readonly server: DnsServer;
	readonly query: Uint8Array;
	/** The answer, or undefined for a message that is none. */
	readonly read: (bytes: Uint8Array) => DnsReply | undefined;
	readonly timeoutMs: number;
	readonly signal: AbortSignal | undefined;
	readonly clock: Clock;
}

/** The server did not answer in time. */
export class DnsTimeoutError extends Error {}

/** No connection over TCP came about: refused, dropped on the way, or no route. What was sent over one has not been lost. */
export class DnsNoConnectionError extends Error {}

const LENGTH_BYTES = 2;

/**
 * One question over UDP. The socket is new, so its port is one that nobody can guess, and connected, so that only the
 * server is heard and a port where nobody listens is known at once. Rejects with an Error of the system, a
 * DnsTimeoutError, or the signal's reason.
 */
export function exchangeOverUdp(exchange: DnsExchange): Promise<DnsReply> {
	const { server, query, read } = exchange;
	return settleOnce(exchange, (resolve, reject) => {
		const socket = createSocket(isIPv6(server.host) ? 'udp6' : 'udp4');
		socket.on('error', reject);
		socket.on('message', (bytes) => {
			const reply = read(bytes);
			// A stray message is no answer: the wait goes on.
			if (reply !== undefined) resolve(reply);
		});
		socket.on('connect', () => socket.send(query, (error) => error && reject(error)));
		socket.connect(server.port, server.host);
		return () => socket.close();
	});
}

/** One question over TCP, for answers that are too long for UDP. Source: RFC 7766. Rejects as over UDP; with a DnsNoConnectionError before there is a connection. */
export function exchangeOverTcp(exchange: DnsExchange): Promise<DnsReply> {
	const { server, query, read } = exchange;
	let isConnected = false;
	const failure = (cause: unknown): unknown =>
		isConnected || exchange.signal?.aborted ? cause : new DnsNoConnectionError(`TCP: ${messageOf(cause)}`, { cause });
	const settled = settleOnce(exchange, (resolve, reject) => {
		const socket = connect(server.port, server.host);
		let received: Buffer = Buffer.alloc(0);
		const length = Buffer.alloc(LENGTH_BYTES);
		length.writeUInt16BE(query.length);
		socket.on('error', reject);
		socket.on('connect', () => {
			isConnected = true;
			socket.write(Buffer.concat([length, query]));
		});
		socket.on('end', () => reject(new Error('the server closed the connection before its answer was complete')));
		socket.on('data', (chunk) => {
			// At most 64 KiB, because the length has two bytes.
			received = Buffer.concat([received, chunk]);
			if (received.length < LENGTH_BYTES) return;
			const end = LENGTH_BYTES + received.readUInt16BE(0);
			if (received.length < end) return;
			const reply = read(received.subarray(LENGTH_BYTES, end));
			if (reply === undefined) reject(new Error('the response does not match the query'));
			else resolve(reply);
		});
		return () => socket.destroy();
	});
	return settled.catch((cause: unknown) => {
		throw failure(cause);
	});
}

/** Runs an exchange to its first outcome, its deadline or its signal; then releases what it held. */
function settleOnce(
	{ timeoutMs, signal, clock = systemClock }: DnsExchange,
	start: (resolve: (reply: DnsReply) => void, reject: (error: unknown) => void) => () => void,
): Promise<DnsReply> {
	return new Promise((resolve, reject) => {
		if (signal?.aborted) return reject(signal.reason);
		let isSettled = false;
		const settle = (outcome: () => void): void => {
			if (isSettled) return;
			isSettled = true;
			clock.clearTimeout(timer);
			offAbort(signal, abort);
			release();
			outcome();
		};
		const abort = (): void => settle(() => reject(signal?.reason));
		const timer = clock.setTimeout(
			() => settle(() => reject(new DnsTimeoutError(`no answer within ${timeoutMs} ms`))),
			timeoutMs,
		);
		if (signal !== undefined) onAbort(signal, abort);
		const release = start(
			(reply) => settle(() => resolve(reply)),
			(error) => settle(() => reject(error)),
		);
	});
}
