import { EventEmitter } from 'node:events';
import {
	type ClientHttp2Session,
	type ClientHttp2Stream,
	connect,
	constants,
	type OutgoingHttpHeaders,
	type SecureClientSessionOptions,
} from 'node:http2';
import { isIP } from 'node:net';
import { connect as connectTls } from 'node:tls';

import type { Clock, TimerHandle } from '@spock/protocol/internal';

/** Requests on one connection at a time; a Go server allows 250, and says so. */
const STREAMS_MAX = 200;
/** A connection that does not answer a ping within this time is gone. */
const PING_MS = 2000;
/** A connection that was silent for so long is probed each second, as node:http does it by default: ten lost probes end it. */
const KEEP_ALIVE_MS = 1000;
/** How long a handshake may take. */
const HANDSHAKE_MS = 2000;
/** For all answers on one connection that nobody has read yet: the default of 64 KiB would make large ones wait for each other. */
const WINDOW_BYTES = 4 * 1024 * 1024;
/** Headers of a connection, which HTTP/2 does not have. */
const CONNECTION_HEADERS = new Set(['connection', 'host', 'keep-alive', 'transfer-encoding', 'upgrade']);

/** What the npm package asks its transport with. */
export interface TransportOptions {
	readonly method: string;
	readonly path: string;
	readonly headers?: OutgoingHttpHeaders;
}

interface Session {
	readonly http2: ClientHttp2Session;
	streams: number;
	pingTimer: TimerHandle | undefined;
}

/**
 * Connections to one address that speaks HTTP/2, which Consul does over TLS: hundreds of queries are held on each, where HTTP/1.1
 * takes a connection for every one. It stands in for `node:https` in the npm package.
 * Source: https://github.com/hashicorp/consul/blob/v1.20.2/agent/agent.go (http2.ConfigureServer)
 */
export class Http2Sessions {
	readonly #authority: string;
	readonly #options: SecureClientSessionOptions;
	readonly #clock: Clock;
	readonly #sessions = new Set<Session>();
	#spoken: Promise<boolean | undefined> | undefined;
	#isRetired = false;

	constructor(authority: string, options: SecureClientSessionOptions, clock: Clock) {
		this.#authority = authority;
		this.#clock = clock;
		this.#options = { ...options, settings: { enablePush: false, initialWindowSize: WINDOW_BYTES } };
	}

	/** Whether the address speaks HTTP/2; asked of it once. False, and asked again, where nobody answers. */
	async isSpoken(): Promise<boolean> {
		this.#spoken ??= this.#ask();
		const isSpoken = await this.#spoken;
		if (isSpoken === undefined) this.#spoken = undefined;
		return isSpoken ?? false;
	}

	/** By a handshake alone; undefined where there was none. */
	#ask(): Promise<boolean | undefined> {
		const { hostname, port } = new URL(this.#authority);
		const host = hostname.replace(/^\[|\]$/g, '');
		return new Promise((resolve) => {
			const options = { servername: isIP(host) === 0 ? host : '', ...this.#options };
			const socket = connectTls({ ...options, host, port: Number(port || 443), ALPNProtocols: ['h2', 'http/1.1'] });
			const end = (isSpoken: boolean | undefined): void => {
				this.#clock.clearTimeout(timer);
				socket.destroy();
				resolve(isSpoken);
			};
			const timer = this.#clock.setTimeout(() => end(undefined), HANDSHAKE_MS);
			timer.unref?.();
			socket.once('secureConnect', () => end(socket.alpnProtocol === 'h2'));
			socket.once('close', () => end(undefined));
			socket.on('error', () => end(undefined));
			socket.unref();
		});
	}

	/** A request as `node:https` makes one, as far as the npm package needs it. */
	request(options: TransportOptions): EventEmitter {
		return new StreamRequest(this.#withRoom(), options, this.#clock);
	}

	/** Lets requests end, and each connection with its last one. */
	retire(): void {
		this.#isRetired = true;
		for (const { http2 } of this.#sessions) http2.close();
	}

	/** Cuts every connection. */
	destroy(): void {
		for (const { http2 } of this.#sessions) http2.destroy();
		this.#sessions.clear();
	}

	#withRoom(): Session {
		for (const session of this.#sessions) {
			const { http2, streams } = session;
			const streamsMax = Math.min(STREAMS_MAX, http2.remoteSettings?.maxConcurrentStreams ?? STREAMS_MAX);
			if (!http2.closed && !http2.destroyed && streams < streamsMax) return session;
		}
		return this.#open();
	}

	#open(): Session {
		const http2 = connect(this.#authority, this.#options);
		const session: Session = { http2, streams: 0, pingTimer: undefined };
		this.#sessions.add(session);
		http2.on('connect', (_, socket) => {
			http2.setLocalWindowSize(WINDOW_BYTES);
			socket.setKeepAlive(true, KEEP_ALIVE_MS);
		});
		// What fails are its requests, each of which tells; the connection itself is taken out when it closes.
		http2.on('error', () => undefined);
		http2.on('close', () => {
			this.#clock.clearTimeout(session.pingTimer);
			this.#sessions.delete(session);
		});
		http2.unref();
		if (this.#isRetired) http2.close();
		return session;
	}
}

/** One request on a connection. */
class StreamRequest extends EventEmitter {
	readonly #session: Session;
	readonly #options: TransportOptions;
	readonly #clock: Clock;
	readonly #headers: OutgoingHttpHeaders = {};
	#stream: ClientHttp2Stream | undefined;

	constructor(session: Session, options: TransportOptions, clock: Clock) {
		super();
		this.#clock = clock;
		this.#session = session;
		this.#options = options;
		for (const [name, value] of Object.entries(options.headers ?? {})) this.setHeader(name, value);
	}

	getHeader(name: string): unknown {
		return this.#headers[name.toLowerCase()];
	}

	setHeader(name: string, value: OutgoingHttpHeaders[string]): void {
		if (!CONNECTION_HEADERS.has(name.toLowerCase())) this.#headers[name.toLowerCase()] = value;
	}

	removeHeader(name: string): void {
		delete this.#headers[name.toLowerCase()];
	}

	end(body?: string | Buffer): void {
		const { method, path } = this.#options;
		const session = this.#session;
		const { http2 } = session;
		const stream = http2.request({ ':method': method, ':path': path, ...this.#headers }, { endStream: !body });
		this.#stream = stream;
		if (session.streams++ === 0) http2.ref();
		let isAnswered = false;
		stream.on('response', (headers) => {
			isAnswered = true;
			const answer = { statusCode: headers[':status'], headers, complete: false, req: { reusedSocket: true } };
			this.emit('response', Object.assign(stream, answer));
		});
		stream.on('end', () => Object.assign(stream, { complete: true }));
		stream.on('error', (error) => this.emit('error', error.cause ?? error));
		stream.on('close', () => {
			if (--session.streams === 0) http2.unref();
			if (!isAnswered) this.emit('error', new Error('the connection ended before the answer'));
		});
		if (body) stream.end(body);
	}

	/** Nobody waits for the answer any more; whether that is because there is nobody, a ping says. */
	abort(): void {
		this.#stream?.close(constants.NGHTTP2_CANCEL);
		const { http2, pingTimer } = this.#session;
		if (pingTimer !== undefined || http2.destroyed || http2.connecting) return;
		const timer = this.#clock.setTimeout(() => http2.destroy(), PING_MS);
		timer.unref?.();
		this.#session.pingTimer = timer;
		http2.ping(() => {
			this.#clock.clearTimeout(timer);
			this.#session.pingTimer = undefined;
		});
	}

	/** Deadlines are our own. */
	setTimeout(): void {}
}
