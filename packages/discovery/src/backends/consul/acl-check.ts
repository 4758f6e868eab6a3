import { type CallOptions, type ServiceInstance, type ServiceQuery, SpockError } from '@spock/protocol';

import { sendRequest } from './client/consul-client.ts';
import type { ConsulHttp } from './http/consul-http.ts';

/** Nodes that are asked about at once. */
const NODES_MAX = 8;

/**
 * Asks Consul whether whoever asks may read the service at all, and throws ACL_DENIED if not: under default deny an empty list may
 * be a denial that Consul does not tell as one. `before`: the last known instances. Where Consul cannot tell, an empty answer is believed.
 */
export async function refuseIfDenied(
	http: ConsulHttp,
	query: ServiceQuery,
	before: readonly ServiceInstance[],
	signal: AbortSignal,
): Promise<void> {
	const { service, datacenter } = query;
	// What a peer exports has rules of its own there.
	if (query.peer !== undefined) return;
	// An instance is seen by who may read its service and its node.
	const nodes = [...new Set(before.map(({ instance }) => instance.split('/', 1)[0] ?? ''))].slice(0, NODES_MAX);
	const body = [
		{ Resource: 'service', Access: 'read', Segment: service },
		...nodes.map((node) => ({ Resource: 'node', Access: 'read', Segment: node })),
	];
	if (await isAllowed(http, { datacenter, body }, { signal })) return;
	throw new SpockError(
		'ACL_DENIED',
		`Consul does not let this token, or requests without one, read ${JSON.stringify(service)}: use a token with service:read for it and node:read for its nodes`,
		{
			details: { service },
		},
	);
}

/**
 * Throws ACL_DENIED where an empty list of services may be a denial that Consul does not tell as one: whoever asks may read no service
 * of any name.
 */
export async function refuseIfListDenied(
	http: ConsulHttp,
	datacenter: string | undefined,
	options: CallOptions,
): Promise<void> {
	const body = [{ Resource: 'service', Access: 'read', Segment: '' }];
	if (await isAllowed(http, { datacenter, body }, options)) return;
	const who = (await http.hasToken()) ? 'with this token' : 'without a token';
	throw new SpockError(
		'ACL_DENIED',
		`Consul lists no services ${who}: use one with service:read and node:read for the services that apps look up`,
	);
}

/** What gives a token its rights. */
const GRANTS = ['Policies', 'Roles', 'ServiceIdentities', 'NodeIdentities', 'TemplatedPolicies'] as const;

/**
 * True if there is a token, and it was granted something: it may read what that names although it may list nothing. What is in its
 * policies it may not see itself. Source: https://developer.hashicorp.com/consul/api-docs/acl/tokens#read-self-token
 */
export async function isGrantedSomething(http: ConsulHttp, options: CallOptions): Promise<boolean> {
	if (!(await http.hasToken())) return false;
	return http.call(
		{
			parameters: http.placeParameters(),
			send: (client, common) => sendRequest(client, common, { method: 'GET', path: '/acl/token/self' }),
			read: (_response, token) =>
				GRANTS.some((name) => isFilledList((token as Readonly<Record<string, unknown>>)[name])),
		},
		options,
	);
}

function isFilledList(value: unknown): boolean {
	return Array.isArray(value) && value.length > 0;
}

/** False if Consul says that this is denied; true where it cannot tell. */
async function isAllowed(
	http: ConsulHttp,
	{ datacenter, body }: { readonly datacenter: string | undefined; readonly body: readonly object[] },
	options: CallOptions,
): Promise<boolean> {
	try {
		return await http.call(
			{
				parameters: http.placeParameters(datacenter),
				send: (client, common) =>
					sendRequest(client, common, { method: 'POST', path: '/internal/acl/authorize', body }),
				read: (_response, answer) => mayRead(answer),
			},
			options,
		);
	} catch (error) {
		// An answer without a verdict: no such endpoint, or no ACLs. Without any answer the empty list is not believed.
		if (SpockError.is(error, 'UNAVAILABLE') && error.details['status'] !== undefined) return true;
		throw error;
	}
}

/** True unless the service, or every node that was asked about, is denied. */
function mayRead(answer: unknown): boolean {
	if (!Array.isArray(answer)) return true;
	const [service, ...nodes] = answer.map(
		(one: unknown) => (one as { readonly Allow?: unknown } | null)?.Allow !== false,
	);
	return service !== false && (nodes.length === 0 || nodes.includes(true));
}
