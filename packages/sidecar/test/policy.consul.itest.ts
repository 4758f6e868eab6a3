import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { connect } from '@spock/client';
import { startAclConsul, startSidecar, tempSocket } from '@spock/testkit';
import { expect, it } from 'vitest';

const TOKEN = 'b1950001-0000-4000-8000-000000000002';

/** The policy that the guide gives to operators. */
function documentedRules(): string {
	const page = readFileSync(fileURLToPath(new URL('../../../docs/guide/consul.md', import.meta.url)), 'utf8');
	const [, rules] = /^```hcl\n(.+?)^```/ms.exec(page) ?? [];
	if (rules === undefined) throw new Error('the guide has no policy');
	return rules;
}

it('the policy of the guide suffices for lookups, keys and registrations, and allows no other registration', async () => {
	await using consul = await startAclConsul();
	await consul.put('/v1/acl/policy', { Name: 'spock', Rules: documentedRules() });
	await consul.put('/v1/acl/token', { SecretID: TOKEN, Policies: [{ Name: 'spock' }] });
	await consul.put('/v1/agent/service/register', { Name: 'till', ID: 'till-1', Address: '1.2.3.4', Port: 80 });
	await consul.put('/v1/kv/app/limits', { max: 5 });
	await using place = await tempSocket();
	await using _sidecar = await startSidecar(place.path, ['--consul', consul.url], {
		env: { CONSUL_HTTP_TOKEN: TOKEN },
	});
	const diplomat = await connect({ path: place.path });
	try {
		expect(await diplomat.getService('till')).toMatchObject({ host: '1.2.3.4', port: 80 });
		expect((await diplomat.listServices()).services.map(({ name }) => name)).toContain('till');
		expect((await diplomat.explain('till')).instances).toHaveLength(1);
		expect(await diplomat.getKey('app/limits')).toMatchObject({ value: '{"max":5}' });
		const registration = await diplomat.register({ service: 'barista', host: '127.0.0.1', port: 8765 });
		expect(registration.state).toBe('registered');
		await expect(diplomat.getService('barista', { fresh: true, timeoutMs: 30_000 })).resolves.toMatchObject({
			port: 8765,
		});
		await expect(diplomat.register({ service: 'waiter', host: '127.0.0.1', port: 1 })).rejects.toMatchObject({
			code: 'ACL_DENIED',
			message: expect.stringContaining('service:write'),
		});
	} finally {
		await diplomat.drain();
	}
});
