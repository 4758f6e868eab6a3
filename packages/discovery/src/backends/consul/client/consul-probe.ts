import { type Clock, isInteger, isObject } from '@spock/protocol/internal';

import { type ConsulAnswer, ConsulCall, sendWithDeadline } from './consul-call.ts';
import { sendRequest } from './consul-client.ts';
import type { ConsulEndpoint } from './consul-endpoints.ts';

/** An address that does not answer a request without any work within this time is not there. */
export const PROBE_MS = 2000;
const LEADER = '/status/leader';
const SELF = '/agent/self';

/** It answers, and knows no leader. */
export class NoLeaderError extends Error {}

interface AskOptions {
	readonly signal?: AbortSignal;
	readonly token?: string | undefined;
	/** Of whose servers the agent asks one. Default: its own. */
	readonly datacenter?: string | undefined;
}

async function ask(
	endpoint: ConsulEndpoint,
	clock: Clock,
	path: string,
	{ signal, token, datacenter }: AskOptions = {},
): Promise<ConsulAnswer> {
	const client = await endpoint.client();
	const call = new ConsulCall(datacenter === undefined ? {} : { dc: datacenter }, { urgent: 'probe' });
	const common = { ctx: call, ...(token && { token }) };
	const send = (): Promise<unknown> => sendRequest(client, common, { method: 'GET', path });
	return (await sendWithDeadline({ clock, call, timeoutMs: PROBE_MS, signal }, send)) as ConsulAnswer;
}

/**
 * Resolves, with whether it knows a leader, if that is known, if what answers there reaches the servers, of its own datacenter or of the one that is named: an agent asks one of them for the
 * leader, and answers 500, or not at all, where it reaches none. No token is judged. A proxy that refuses it (403, 404) is there too.
 * Source: https://developer.hashicorp.com/consul/api-docs/status#get-raft-leader
 */
export async function probeServers(
	endpoint: ConsulEndpoint,
	clock: Clock,
	signal: AbortSignal,
	mustKnowLeader: boolean,
	datacenter?: string,
): Promise<boolean | undefined> {
	try {
		const [, leader] = await ask(endpoint, clock, LEADER, { signal, datacenter });
		if (mustKnowLeader && leader === '') throw new NoLeaderError('no cluster leader');
		return leader !== '';
	} catch (reason) {
		const { statusCode } = reason as { readonly statusCode?: number };
		// 429 is the want of room for one more connection: those that are held are not touched by it.
		if (statusCode === undefined || statusCode >= 500) throw reason;
		return undefined;
	}
}

/**
 * Resolves if that address knows a leader, for which an agent asks a server; no token is judged. Rejects otherwise.
 * Source: https://developer.hashicorp.com/consul/api-docs/status#get-raft-leader
 */
export async function probeLeader(endpoint: ConsulEndpoint, clock: Clock): Promise<void> {
	const [, leader] = await ask(endpoint, clock, LEADER);
	if (typeof leader !== 'string' || leader === '') throw new NoLeaderError('no cluster leader');
}

/**
 * How many connections the agent at that address allows one client; 0: any number; undefined where it does not say, or the token has no
 * right to read it (`agent:read`).
 * Source: https://developer.hashicorp.com/consul/api-docs/agent#read-configuration
 */
export async function readConnectionsMax(
	endpoint: ConsulEndpoint,
	clock: Clock,
	token: string | undefined,
	signal: AbortSignal,
): Promise<number | undefined> {
	try {
		const [, self] = await ask(endpoint, clock, SELF, { token, signal });
		const { DebugConfig } = (isObject(self) ? self : {}) as { readonly DebugConfig?: unknown };
		const max = isObject(DebugConfig) ? DebugConfig['HTTPMaxConnsPerClient'] : undefined;
		return isInteger(max, 0) ? max : undefined;
	} catch {
		// Whatever it is, what is known of the limit stands; the queries themselves show whether the address is well.
		return undefined;
	}
}
