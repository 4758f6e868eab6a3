import {
	MANAGEMENT_TOKEN,
	manage,
	type RealConsul,
	runSidecar,
	startAclConsul,
	startSidecar,
	tempSocket,
	tokenOf,
	waitFor,
} from '@spock/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const UNKNOWN = 'deadbeef-0000-4000-8000-00000000b001';

let consul: RealConsul;

beforeAll(async () => {
	consul = await startAclConsul();
	await manage(consul, 'PUT', '/v1/agent/service/register', {
		Name: 'barista',
		ID: 'b1',
		Address: '1.2.3.4',
		Port: 8765,
	});
	await manage(consul, 'PUT', '/v1/kv/app/limits', { max: 5 });
});

afterAll(() => consul?.[Symbol.asyncDispose]());

/** A sidecar with this token, none if it is undefined, and what it says of its readiness everywhere. */
async function open(token: string | undefined) {
	const place = await tempSocket();
	const env = { CONSUL_HTTP_ADDR: consul.url, ...(token && { CONSUL_HTTP_TOKEN: token }) };
	const sidecar = await startSidecar(place.path, ['--admin', '127.0.0.1:0', '--log-format', 'json'], { env });
	const admin = await waitFor('the port', () => /"address":"([^"]+)","msg":"admin/.exec(sidecar.stdout())?.[1]);
	const command = async (...args: string[]) => await runSidecar([...args, '--socket', place.path]).finished;
	return {
		sidecar,
		command,
		readyz: async () => {
			const response = await fetch(`http://${admin}/readyz`);
			return { status: response.status, text: await response.text() };
		},
		lines: (part: string) =>
			sidecar
				.stdout()
				.split('\n')
				.filter((line) => line.includes(part)),
		[Symbol.asyncDispose]: async () => {
			await sidecar[Symbol.asyncDispose]();
			await place[Symbol.asyncDispose]();
		},
	};
}

describe('under default deny', () => {
	it.each([
		['no token', async () => undefined, /lists no services without a token/],
		['a token that Consul does not know', async () => UNKNOWN, /does not know the ACL token/],
		['a token that was granted nothing', () => tokenOf(consul), /filtered every result/],
	])('%s: not ready, and the reason is in the log, /readyz, health and status', async (_name, token, reason) => {
		await using one = await open(await token());
		await waitFor('the reason', () => one.lines('"msg":"not ready').length > 0);
		expect(one.lines('"msg":"not ready')).toEqual([expect.stringMatching(reason)]);
		expect(one.lines('"msg":"ready')).toEqual([]);
		expect(await one.readyz()).toEqual({ status: 503, text: expect.stringMatching(reason) });
		expect(await one.command('health')).toMatchObject({ exitCode: 1, stderr: expect.stringMatching(reason) });
		const status = await one.command('status', '--json');
		expect(JSON.parse(status.stdout)).toMatchObject({ ready: false, reasons: [expect.stringMatching(reason)] });
		expect((await one.command('status')).stdout).toMatch(reason);
		expect((await one.command('list')).stderr).toContain('ACL_DENIED');
	});

	it.each([
		['keys alone', 'key_prefix "app/" { policy = "read" }', ['kv', 'get', 'app/limits'], 0],
		['services without their nodes', 'service_prefix "" { policy = "read" }', ['get', 'barista'], 1],
		['one service that is not there yet', 'service "till" { policy = "read" }', ['get', 'till'], 1],
	])('a token for %s is ready, and the log says that it may list nothing', async (_name, rules, args, exitCode) => {
		await using one = await open(await tokenOf(consul, rules));
		await waitFor('readiness', () => one.lines('"msg":"ready"').length === 1);
		expect(one.lines('listing services is denied')).toHaveLength(1);
		expect(await one.readyz()).toMatchObject({ status: 200 });
		expect(await one.command('health')).toMatchObject({ exitCode: 0 });
		expect(await one.command(...args)).toMatchObject({ exitCode });
	});

	it('a token by its service identity alone is ready', async () => {
		const token = await manage(consul, 'PUT', '/v1/acl/token', { ServiceIdentities: [{ ServiceName: 'app' }] });
		await using one = await open((token as { readonly SecretID: string }).SecretID);
		await waitFor('readiness', () => one.lines('"msg":"ready"').length === 1);
	});

	it('who has no token is ready when something was read after all', async () => {
		await using one = await open(undefined);
		await waitFor('the reason', () => one.lines('"msg":"not ready').length > 0);
		const anonymous = '00000000-0000-0000-0000-000000000002';
		await manage(consul, 'PUT', '/v1/acl/policy', { Name: 'anon', Rules: 'key_prefix "app/" { policy = "read" }' });
		await manage(consul, 'PUT', `/v1/acl/token/${anonymous}`, { Policies: [{ Name: 'anon' }] });
		try {
			expect(await one.command('kv', 'get', 'app/limits')).toMatchObject({ exitCode: 0 });
			await waitFor('readiness', () => one.lines('"msg":"ready"').length === 1);
		} finally {
			await manage(consul, 'PUT', `/v1/acl/token/${anonymous}`, { Policies: [] });
		}
	});

	it('a token that is deleted while keys are watched: status says so at once', async () => {
		const token = await tokenOf(
			consul,
			'service_prefix "" { policy = "read" } node_prefix "" { policy = "read" } key_prefix "" { policy = "read" }',
		);
		await using one = await open(token);
		await using watches = runSidecar(['kv', 'watch', 'app/limits', '--socket', await socketOf(one)]);
		await using watch = runSidecar(['watch', 'barista', '--socket', await socketOf(one)]);
		await waitFor('both', () => watches.stdout() !== '' && watch.stdout() !== '');
		const { AccessorID } = (await (
			await fetch(`${consul.url}/v1/acl/token/self`, { headers: { 'x-consul-token': token } })
		).json()) as { readonly AccessorID: string };
		await fetch(`${consul.url}/v1/acl/token/${AccessorID}`, {
			method: 'DELETE',
			headers: { 'x-consul-token': MANAGEMENT_TOKEN },
		});
		// A change ends the query that is held for the service, and that of the key stays held.
		await manage(consul, 'PUT', '/v1/agent/service/register', {
			Name: 'barista',
			ID: 'b1',
			Address: '1.2.3.9',
			Port: 8765,
		});
		await waitFor('a failed watch', () => one.lines('watch failed').length > 0);
		const status = JSON.parse((await one.command('status', '--json')).stdout) as { readonly backend: object };
		expect(status.backend).toMatchObject({
			state: 'down',
			error: expect.stringContaining('does not know the ACL token'),
		});
	});
});

/** Where it listens, as its log says. */
function socketOf(one: { lines(part: string): string[] }): Promise<string> {
	return waitFor('its place', () => /"addresses":\["([^"]+)"/.exec(one.lines('"msg":"listening"').join(''))?.[1]);
}
