import type { Clock } from '@spock/protocol/internal';

import { type ConsulAnswer, ConsulCall, sendWithDeadline } from './consul-call.ts';
import { sendRequest } from './consul-client.ts';
import type { ConsulEndpoint } from './consul-endpoints.ts';

/** An address that does not answer a request without any work within this time is not there. */
const PROBE_MS = 2000;

async function ask(endpoint: ConsulEndpoint, clock: Clock, path: string, signal?: AbortSignal): Promise<ConsulAnswer> {
	const client = await endpoint.client();
	const call = new ConsulCall({});
	const send = (): Promise<unknown> => sendRequest(client, { ctx: call }, { method: 'GET', path });
	return (await sendWithDeadline({ clock, call, timeoutMs: PROBE_MS, signal }, send)) as ConsulAnswer;
}

/**
 * Resolves if anybody answers there at all. An agent gives its version from memory: it asks no server and judges no token. A
 * proxy that refuses it (403, 404) is there too.
 * Source: https://github.com/hashicorp/consul/blob/v1.20.2/agent/agent_endpoint.go (AgentVersion)
 */
export async function probePresence(endpoint: ConsulEndpoint, clock: Clock, signal: AbortSignal): Promise<void> {
	try {
		await ask(endpoint, clock, '/agent/version', signal);
	} catch (reason) {
		if ((reason as { readonly response?: unknown }).response === undefined) throw reason;
	}
}

/**
 * Resolves if that address knows a leader, for which an agent asks a server; no token is judged. Rejects otherwise.
 * Source: https://developer.hashicorp.com/consul/api-docs/status#get-raft-leader
 */
export async function probeLeader(endpoint: ConsulEndpoint, clock: Clock): Promise<void> {
	const [, leader] = await ask(endpoint, clock, '/status/leader');
	if (typeof leader !== 'string' || leader === '') throw new Error('it knows no leader');
}
