import { randomUUID } from 'node:crypto';

import { findConsul, type RealConsul, startConsul } from './real-consul.ts';

/** The token that may do anything in the Consul of {@link startAclConsul}. */
export const MANAGEMENT_TOKEN = 'b1950001-0000-4000-8000-000000000001';
/** The accessor of Consul's anonymous token. */
export const ANONYMOUS_ACCESSOR = '00000000-0000-0000-0000-000000000002';
/** Rules that let a token see every instance. */
export const READ_ALL = 'service_prefix "" { policy = "read" } node_prefix "" { policy = "read" }';

/** A Consul with ACLs, default deny, and a cache of tokens that forgets at once. */
export function startAclConsul(hcl: readonly string[] = []): Promise<RealConsul> {
	const acl =
		'acl { enabled = true default_policy = "deny" token_ttl = "0s" policy_ttl = "0s" role_ttl = "0s" ' +
		`tokens { initial_management = "${MANAGEMENT_TOKEN}" agent = "${MANAGEMENT_TOKEN}" } }`;
	return startConsul({ binary: findConsul(process.env), hcl: [acl, ...hcl], token: MANAGEMENT_TOKEN });
}

/** A call to Consul's API as management; gives its JSON. Throws an Error with the answer if it is not 2xx. */
export async function manage(consul: RealConsul, method: string, path: string, body?: unknown): Promise<unknown> {
	const response = await fetch(`${consul.url}${path}`, {
		method,
		headers: { 'x-consul-token': MANAGEMENT_TOKEN },
		...(body !== undefined && { body: JSON.stringify(body) }),
	});
	const text = await response.text();
	if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
	return text === '' ? undefined : JSON.parse(text);
}

/** A new token with these rules; one without any rights if there are none. */
export async function tokenOf(consul: RealConsul, rules?: string): Promise<string> {
	const Name = `policy-${randomUUID()}`;
	if (rules !== undefined) await manage(consul, 'PUT', '/v1/acl/policy', { Name, Rules: rules });
	const token = await manage(consul, 'PUT', '/v1/acl/token', rules === undefined ? {} : { Policies: [{ Name }] });
	return (token as { readonly SecretID: string }).SecretID;
}
