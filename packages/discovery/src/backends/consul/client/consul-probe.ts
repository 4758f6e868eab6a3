import type { Clock } from '@spock/protocol/internal';

import { type ConsulAnswer, ConsulCall, sendWithDeadline } from './consul-call.ts';
import { sendRequest } from './consul-client.ts';
import type { ConsulEndpoint } from './consul-endpoints.ts';

/** An address that does not answer a request without any work within this time is not there. */
export const PROBE_MS = 2000;
const LEADER = '/status/leader';

async function ask(endpoint: ConsulEndpoint, clock: Clock, path: string, signal?: AbortSignal): Promise<ConsulAnswer> {
	const client = await endpoint.client();
	const call = new ConsulCall({});
	const send = (): Promise<unknown> => sendRequest(client, { ctx: call }, { method: 'GET', path });
	return (await sendWithDeadline({ clock, call, timeoutMs: PROBE_MS, signal }, send)) as ConsulAnswer;
}

/**
 * Resolves if whoever is there reaches the servers: an agent asks one of them for the leader, and answers 500, or not at all, where it
 * reaches none. No token is judged. A proxy that refuses it (403, 404) is there too.
 * Source: https://developer.hashicorp.com/consul/api-docs/status#get-raft-leader
 */
export async function probeServers(
	endpoint: ConsulEndpoint,
	clock: Clock,
	signal: AbortSignal,
	mustKnowLeader: boolean,
): Promise<void> {
	try {
		const [, leader] = await ask(endpoint, clock, LEADER, signal);
		if (mustKnowLeader && leader === '') throw new Error('no cluster leader');
	} catch (reason) {
		const { statusCode } = reason as { readonly statusCode?: number };
		// 429 is the want of room for one more connection: those that are held are not touched by it.
		if (statusCode === undefined || statusCode >= 500) throw reason;
	}
}

/**
 * Resolves if that address knows a leader, for which an agent asks a server; no token is judged. Rejects otherwise.
 * Source: https://developer.hashicorp.com/consul/api-docs/status#get-raft-leader
 */
export async function probeLeader(endpoint: ConsulEndpoint, clock: Clock): Promise<void> {
	const [, leader] = await ask(endpoint, clock, LEADER);
	if (typeof leader !== 'string' || leader === '') throw new Error('no cluster leader');
}
