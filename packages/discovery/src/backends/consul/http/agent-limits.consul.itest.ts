import { systemClock } from '@spock/protocol/internal';
import { findConsul, manage, READ_ALL, type RealConsul, startAclConsul, startConsul } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { createEndpoints } from '../client/consul-endpoints.ts';
import { readConnectionsMax } from '../client/consul-probe.ts';

const LIMIT = 400;
const hcl = [`limits { http_max_conns_per_client = ${LIMIT} }`];

/** What the agent says to this token. */
async function limitOf(consul: RealConsul, token?: string): Promise<number | undefined> {
	const [endpoint] = createEndpoints([consul.url], 1, { clock: systemClock });
	if (endpoint === undefined) throw new Error('no endpoint');
	try {
		return await readConnectionsMax(endpoint, systemClock, token, AbortSignal.timeout(10_000));
	} finally {
		endpoint.close();
	}
}

describe('the connections that a real agent allows', () => {
	it('are read where there are no ACLs: its own limit, or the default', async () => {
		await using raised = await startConsul({ binary: findConsul(process.env), hcl });
		expect(await limitOf(raised)).toBe(LIMIT);
		await using plain = await startConsul({ binary: findConsul(process.env) });
		expect(await limitOf(plain)).toBe(200);
	});

	it('are read with a token that may read agents, and with no other', async () => {
		await using consul = await startAclConsul(hcl);
		const token = async (name: string, rules: string): Promise<string> => {
			await manage(consul, 'PUT', '/v1/acl/policy', { Name: name, Rules: rules });
			const SecretID = crypto.randomUUID();
			await manage(consul, 'PUT', '/v1/acl/token', { SecretID, Policies: [{ Name: name }] });
			return SecretID;
		};
		expect(await limitOf(consul)).toBeUndefined();
		expect(await limitOf(consul, await token('services', READ_ALL))).toBeUndefined();
		expect(await limitOf(consul, await token('agents', 'agent_prefix "" { policy = "read" }'))).toBe(LIMIT);
	});
});
