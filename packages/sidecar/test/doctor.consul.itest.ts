import { type AddressInfo, createServer, type Server } from 'node:net';

import {
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

import type { Diagnosis } from '../src/cli/commands/doctor/diagnosis.ts';

const UNKNOWN = 'deadbeef-0000-4000-8000-00000000b001';

let consul: RealConsul;
let app: Server;

beforeAll(async () => {
	app = createServer((socket) => socket.on('error', () => undefined));
	await new Promise<void>((resolve) => app.listen(0, '127.0.0.1', resolve));
	consul = await startAclConsul();
	const { port } = app.address() as AddressInfo;
	await manage(consul, 'PUT', '/v1/agent/service/register', {
		Name: 'barista',
		ID: 'b1',
		Address: '127.0.0.1',
		Port: port,
	});
	const Check = { Name: 'the oven', TTL: '1h', Status: 'critical' };
	await manage(consul, 'PUT', '/v1/agent/service/register', {
		Name: 'till',
		ID: 't1',
		Address: '127.0.0.1',
		Port: port,
		Check,
	});
});

afterAll(async () => {
	await consul?.[Symbol.asyncDispose]();
	await new Promise((resolve) => app?.close(resolve) ?? resolve(undefined));
});

/** What doctor finds at a sidecar with this token, when `is` is true of it. */
async function diagnosed(
	token: string | undefined,
	args: readonly string[],
	is: (found: Diagnosis) => boolean = () => true,
) {
	await using place = await tempSocket();
	const env = { CONSUL_HTTP_ADDR: consul.url, ...(token && { CONSUL_HTTP_TOKEN: token }) };
	await using _sidecar = await startSidecar(place.path, ['--log-format', 'json'], { env });
	const diagnosis = await waitFor('the diagnosis', async () => {
		const { stdout } = await runSidecar(['doctor', ...args, '--json', '--socket', place.path]).finished;
		const found = JSON.parse(stdout) as Diagnosis;
		return is(found) ? found : undefined;
	});
	return {
		results: diagnosis.checks.map(({ result }) => result),
		of: (name: string) => diagnosis.checks.find(({ check }) => check === name),
	};
}

const READ = 'node_prefix "" { policy = "read" }';
const SKIPPED = 'not-checked';

describe('doctor under default deny', () => {
	it('with a token that may read everything, all is well', async () => {
		const token = await tokenOf(consul, `service_prefix "" { policy = "read" } ${READ}`);
		const { results, of } = await diagnosed(token, ['barista'], ({ ok }) => ok);
		expect(results).toEqual(['ok', 'ok', 'ok', 'ok', 'ok', 'ok', 'ok']);
		expect(of('registry')?.found).toMatch(/^consul at http.* answers$/);
		expect(of('rights')?.found).toMatch(
			/^the sidecar may read: \d services? listed; registering is not checked, as no app has registered \(it needs service:write\)$/,
		);
	});

	it('an instance without a port is left out, by its name', async () => {
		await manage(consul, 'PUT', '/v1/agent/service/register', { Name: 'shelf', ID: 's1', Address: '127.0.0.1' });
		const token = await tokenOf(consul, `service_prefix "" { policy = "read" } ${READ}`);
		const { of } = await diagnosed(token, ['shelf'], ({ checks }) => checks[1]?.result === 'ok');
		await manage(consul, 'PUT', '/v1/agent/service/deregister/s1', {});
		expect(of('service')).toMatchObject({
			result: 'warning',
			found: expect.stringMatching(/^shelf has 0 instances.*; 1 entry left out: .*\/s1 has no port$/),
			next: 'register it anew, with a valid address and port',
		});
	});

	it('without a token, or with one that Consul does not know, the rights are what is wrong', async () => {
		const isSettled = ({ checks }: Diagnosis): boolean => checks[1]?.result === 'failed';
		for (const token of [undefined, UNKNOWN]) {
			const { results, of } = await diagnosed(token, ['barista'], isSettled);
			expect({ token, results }).toEqual({
				token,
				results: ['ok', 'failed', 'ok', 'failed', SKIPPED, SKIPPED, SKIPPED],
			});
			expect(of('rights')?.next).toContain('service:read');
			expect(of('rights')?.found).not.toContain(UNKNOWN);
		}
	});

	it('a token for another service is refused for this one, and enough for its own', async () => {
		const token = await tokenOf(consul, `service "till" { policy = "read" } ${READ}`);
		const isReady = ({ checks }: Diagnosis): boolean => checks[1]?.result === 'ok';
		const refused = await diagnosed(token, ['barista'], isReady);
		expect(refused.results).toEqual(['ok', 'ok', 'ok', 'failed', SKIPPED, SKIPPED, SKIPPED]);
		expect(refused.of('rights')?.found).toMatch(/^barista may not be read: /);
		const own = await diagnosed(token, ['till'], isReady);
		expect(own.results.slice(4)).toEqual(['ok', 'failed', SKIPPED]);
		expect(own.of('instances')?.found).toContain('the check "the oven" is critical');
	});
});
