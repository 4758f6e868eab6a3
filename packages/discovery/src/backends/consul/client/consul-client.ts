import { Agent as HttpAgent, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { type Clock, formatHostPort } from '@spock/protocol/internal';
import Consul from 'consul';

import type { ConsulAddress } from './consul-address.ts';
import { ConsulCall, type ConsulHookRequest, type ConsulParameters, prepareRequest } from './consul-call.ts';
import type { ConsulTls } from './consul-options.ts';
import { FurtherSources, type RoomLeft } from './further-sources.ts';
import { Http2Sessions } from './http2-sessions.ts';
import type { TlsSecrets } from './tls-files.ts';
import { retireAgent, type UrgentKind, UrgentSockets } from './urgent-sockets.ts';

/** The npm package's client of one address. This is the only file that imports the package. */
export type ConsulClient = Consul;

/** How a client of an address with TLS reaches it. */
const http2Of = new WeakMap<ConsulClient, Http2Sessions>();
/** How one of an address without TLS does. */
const sourcesOf = new WeakMap<ConsulClient, FurtherSources>();
const urgentOf = new WeakMap<ConsulClient, UrgentSockets>();

/** What every call to the package is given. */
export interface ConsulCommon {
	readonly ctx: ConsulCall;
	readonly token?: string;
}

/** The part of the npm package that its types leave out. */
interface ConsulInternals {
	readonly _opts: {
		readonly agent: HttpAgent;
		readonly baseUrl: { hostname: string };
		readonly headers: Record<string, string>;
	};
	_ext(event: 'onCreate' | 'onRequest', hook: (request: ConsulHookRequest, next: () => void) => void): void;
	_request(
		request: Record<string, unknown>,
		end: (request: PackageRequest, next: PackageNext) => void,
	): Promise<unknown>;
}

interface PackageRequest {
	readonly err?: Error;
	readonly res?: { readonly body?: unknown };
}

type PackageNext = (stop: false, error: Error | undefined, value?: unknown) => void;

/** One request that the npm package has no method for. */
export interface ConsulRequest {
	readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE';
	/** Below `/v1`, without a query: `/acl/login`. */
	readonly path: string;
	/** Sent as JSON. Default: none. */
	readonly body?: unknown;
}

/** A client of one address, with what TLS needs, over so many connections at most. */
export function createClient(
	address: ConsulAddress,
	secrets: TlsSecrets,
	{ serverName, verify }: ConsulTls,
	socketsMax: number,
	clock: Clock,
	basicAuth?: string | undefined,
): ConsulClient {
	const agentOptions = { keepAlive: true, maxSockets: socketsMax };
	// Given to the agent and not to the package, which passes on only the options that it knows.
	const secure = {
		...secrets,
		...(serverName && { servername: serverName }),
		...(verify !== undefined && { rejectUnauthorized: verify }),
	};
	const client = new Consul({
		port: address.socketPath === undefined ? address.port : 80,
		secure: address.secure,
		agent: address.secure ? new HttpsAgent({ ...agentOptions, ...secure }) : new HttpAgent(agentOptions),
		...(address.socketPath && { socketPath: address.socketPath }),
	} as ConstructorParameters<typeof Consul>[0]);
	const internals = client as unknown as ConsulInternals;
	// The package would give node:http an address of IPv6 in brackets, which is a name that is looked up in DNS.
	internals._opts.baseUrl.hostname = address.host;
	if (basicAuth !== undefined) {
		internals._opts.headers['authorization'] = `Basic ${Buffer.from(basicAuth).toString('base64')}`;
	}
	internals._ext('onCreate', (request, next) => {
		prepareRequest(request);
		next();
	});
	useUrgentSockets(client, new UrgentSockets(address.secure ? secure : undefined));
	if (!address.secure) {
		if (address.socketPath === undefined) useFurtherSources(client, address, clock);
		return client;
	}
	// HTTP/2 names its server by a URL, which has no place for a zone.
	if (address.host.includes('%')) return client;
	const http2 = new Http2Sessions(`https://${formatHostPort(address)}`, secure, clock);
	http2Of.set(client, http2);
	internals._ext('onRequest', (request, next) => {
		void http2.isSpoken().then((isSpoken) => {
			if (isSpoken) request.transport = http2;
			next();
		});
	});
	return client;
}

function useUrgentSockets(client: ConsulClient, sockets: UrgentSockets): void {
	urgentOf.set(client, sockets);
	(client as unknown as ConsulInternals)._ext('onRequest', ({ ctx, req }, next) => {
		if (ctx instanceof ConsulCall && ctx.urgent) Object.assign(req ?? {}, { agent: sockets.agentFor(ctx.urgent) });
		next();
	});
}

function useFurtherSources(client: ConsulClient, { host, port }: ConsulAddress, clock: Clock): void {
	const internals = client as unknown as ConsulInternals;
	const sources = new FurtherSources({ host, port }, internals._opts.agent, clock);
	sourcesOf.set(client, sources);
	internals._ext('onRequest', ({ ctx, req, opts }, next) => {
		const other = ctx instanceof ConsulCall ? sources.agentFor(ctx, opts.method === 'GET') : undefined;
		if (other === undefined) next();
		else {
			void other.then((agent) => {
				if (agent !== undefined) Object.assign(req ?? {}, { agent });
				next();
			});
		}
	});
}

/** Whether the address takes connections from further addresses of this machine. Never rejects. */
export async function hasFurtherSources(client: ConsulClient): Promise<boolean> {
	return (await sourcesOf.get(client)?.isOpen()) ?? false;
}

/** A connection for this call was refused because there are too many. Never rejects. */
export async function connectionRefused(client: ConsulClient, call: ConsulCall): Promise<RoomLeft> {
	return (await sourcesOf.get(client)?.refused(call)) ?? 'none';
}

/** Whether the address speaks HTTP/2, where it takes a connection for hundreds of calls and not for each. */
export async function isMultiplexed(client: ConsulClient): Promise<boolean> {
	return (await http2Of.get(client)?.isSpoken()) ?? false;
}

/** Allows so many connections at once from now on. */
export function widenClient(client: ConsulClient, socketsMax: number): void {
	(client as unknown as ConsulInternals)._opts.agent.maxSockets = socketsMax;
}

/** Cuts every connection. */
export function destroyClient(client: ConsulClient): void {
	client.destroy();
	urgentOf.get(client)?.destroy();
	sourcesOf.get(client)?.destroy();
	http2Of.get(client)?.destroy();
}

/** Lets a client's calls end, and every connection with its call: the next calls are another client's. */
export function retireClient(client: ConsulClient): void {
	const { agent } = (client as unknown as ConsulInternals)._opts;
	http2Of.get(client)?.retire();
	urgentOf.get(client)?.retire();
	retireAgent(agent);
}

/**
 * Sends a request that the npm package has no method for, through the package's own HTTP layer: what is true of its calls
 * (cancelling, parameters, decoding, errors) is true of this one. Gives the response and its body.
 */
export function sendRequest(client: ConsulClient, common: ConsulCommon, request: ConsulRequest): Promise<unknown> {
	const { ctx, token } = common;
	const { method, path, body } = request;
	return (client as unknown as ConsulInternals)._request(
		{
			name: path,
			method,
			path,
			ctx,
			type: 'json',
			headers: token === undefined ? {} : { 'x-consul-token': token },
			...(body !== undefined && { body }),
		},
		({ err, res }, next) => {
			// The package hides the response in an error unless it is put there: it holds the token, so it is only a mark.
			if (err !== undefined) next(false, Object.assign(err, { response: res }));
			else next(false, undefined, [res, res?.body]);
		},
	);
}

/** What to ask Consul, whichever address answers. */
export interface ConsulQuestion<T> {
	/** Query parameters, all of them: the npm package drops most of those that it is given. */
	readonly parameters?: ConsulParameters;
	/** Sent as JSON in place of what the npm package would make of its options. */
	readonly body?: unknown;
	/** A longer answer is FRAME_TOO_LARGE. Default: 64 MiB, and UNAVAILABLE. */
	readonly answerBytesMax?: number;
	/** A token for this question alone; null for none. Default: the connection's. */
	readonly token?: string | null;
	/** Texts that must stand in no error, besides the token. */
	readonly secrets?: readonly string[];
	/** Makes the call: a method of the package's client, or `sendRequest`. */
	readonly send: (client: ConsulClient, common: ConsulCommon) => Promise<unknown>;
	/** Throws what makes the answer no answer: another address is asked then. */
	readonly read: (response: IncomingMessage, body: unknown) => T;
}

/** How one call that does not block is made. */
export interface ConsulCallOptions {
	readonly signal?: AbortSignal | undefined;
	/** For all addresses together, in milliseconds. Default 10000. */
	readonly timeoutMs?: number | undefined;
	/** The number of the only address that is asked: what belongs to one agent (a registration) means nothing to the others. */
	readonly only?: number;
	/** It never waits behind reads. Default: `write` for one address alone, or with a token of its own. */
	readonly urgent?: UrgentKind;
	/** The number of the address that is asked first, in place of the preferred one. */
	readonly first?: number;
}
