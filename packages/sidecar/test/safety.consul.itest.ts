import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { connect } from '@spock/client';
import type { ExplainReply, ServiceAddress } from '@spock/protocol';
import {
	findConsul,
	type RealConsul,
	type RunningProcess,
	runSidecar,
	startConsul,
	startSidecar,
	type TempSocket,
	tempSocket,
	waitFor,
} from '@spock/testkit';
import { describe, expect, it } from 'vitest';

const binary = findConsul(process.env);

const register = (consul: RealConsul, id: string, more: Record<string, unknown> = {}): Promise<void> =>
	consul.put('/v1/agent/service/register', {
		ID: id,
		Name: 'barista',
		Address: '1.2.3.4',
		Port: 8765,
		Check: { CheckID: `check-${id}`, Name: 'queue', TTL: '10m', Status: 'passing' },
		...more,
	});

/** Runs a command against the sidecar of a place. */
async function command(place: TempSocket, ...args: string[]) {
	await using run = runSidecar([...args, '--socket', place.path]);
	const finished = await run.finished;
	return finished;
}

async function getJson(place: TempSocket, ...args: string[]): Promise<ServiceAddress> {
	const { stdout, stderr, exitCode } = await command(place, 'get', 'barista', '--json', ...args);
	expect({ stderr, exitCode }).toEqual({ stderr: '', exitCode: 0 });
	return JSON.parse(stdout) as ServiceAddress;
}

async function explainJson(place: TempSocket): Promise<ExplainReply> {
	return JSON.parse((await command(place, 'explain', 'barista', '--json')).stdout) as ExplainReply;
}

describe('a sidecar that is started while Consul is out', () => {
	/** A sidecar learns of barista and is killed, then so is Consul. */
	async function learned(
		consul: RealConsul,
		place: TempSocket,
	): Promise<{ args: string[]; stateDir: string; toldAt: number }> {
		await register(consul, 'b1');
		await consul.put('/v1/agent/check/pass/check-b1');
		const stateDir = join(place.directory, 'state');
		const args = ['--consul', consul.url, '--state-dir', stateDir, '--log-format', 'json'];
		await using sidecar = await startSidecar(place.path, args);
		expect(await getJson(place)).toEqual({ host: '1.2.3.4', port: 8765, instance: 'test/b1' });
		const toldAt = Date.now();
		await waitFor('the files', async () => {
			const names = await readdir(stateDir).catch(() => []);
			return names.some((name) => name.startsWith('instances-')) && names.some((name) => name.startsWith('list-'));
		});
		await sidecar.stop('SIGKILL');
		// So that the next one is known to be there by its socket.
		await rm(place.path);
		await consul.kill();
		return { args, stateDir, toldAt };
	}

	it('serves what it last knew, says so and how old it is, is ready; and is live when Consul is back', async () => {
		await using consul = await startConsul({ binary, mode: 'server' });
		await using place = await tempSocket();
		const { args, toldAt } = await learned(consul, place);
		await using sidecar = await startSidecar(place.path, [...args, '--admin', '127.0.0.1:0']);
		const stale = await getJson(place);
		const age = Date.now() - toldAt;
		expect(stale).toMatchObject({ host: '1.2.3.4', port: 8765, instance: 'test/b1', stale: true });
		expect(Math.abs((stale.verifiedAt ?? 0) - toldAt)).toBeLessThan(10_000);
		expect(stale.ageMs).toBeGreaterThan(age - 10_000);
		expect(stale.ageMs).toBeLessThan(age + 10_000);

		const refused = await command(place, 'get', 'barista', '--max-age-ms', '1');
		expect(refused).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('UNAVAILABLE') });
		expect(await command(place, 'get', 'barista', '--max-age-ms', 'x')).toMatchObject({ exitCode: 2 });
		expect((await command(place, 'list')).stdout).toContain('barista');
		expect((await command(place, 'get', 'nobody')).stderr).toContain('UNAVAILABLE');
		const page = (await command(place, 'explain', 'barista')).stdout;
		expect(page).toMatch(/^state {5}stale \(last-known-good\), confirmed by the registry .* ago$/m);
		expect(page).toMatch(/^error {5}Consul at .*ECONNREFUSED/m);

		const admin = await waitFor('the admin port', () => /127\.0\.0\.1:(\d+)","msg":"admin/.exec(sidecar.stdout())?.[1]);
		const ready = await waitFor('readiness', async () => {
			const response = await fetch(`http://127.0.0.1:${admin}/readyz`);
			return response.status === 200 ? ((await response.json()) as { reasons: string[] }) : undefined;
		});
		expect(ready.reasons).toEqual([
			expect.stringMatching(/the backend consul has not answered yet.*the last known answers are served/),
		]);
		const metrics = await (await fetch(`http://127.0.0.1:${admin}/metrics`)).text();
		expect(metrics).toContain('spock_state_files_total{outcome="restored"} 2');
		expect(sidecar.stdout()).toContain('serving the saved state');

		await consul.restart();
		// The watch asks again with a growing delay.
		await waitFor('Consul to be back', async () => (await getJson(place)).stale === undefined, 60_000);
		expect((await explainJson(place)).state).toBe('fresh');
	});

	it.each([
		['torn', (text: string) => text.slice(0, text.length / 2)],
		['foreign', () => '{"services":{"barista":[]}}'],
		['version', (text: string) => text.replace('"version":1', '"version":99')],
		['scope', (text: string) => text.replace('datacenter=', 'datacenter=elsewhere')],
	])('ignores a file loudly that is %s', async (refusal, spoil) => {
		await using consul = await startConsul({ binary });
		await using place = await tempSocket();
		const { args, stateDir } = await learned(consul, place);
		for (const name of await readdir(stateDir)) {
			const file = join(stateDir, name);
			await writeFile(file, spoil(await readFile(file, 'utf8')));
		}
		await using sidecar: RunningProcess = await startSidecar(place.path, args);
		expect(await command(place, 'get', 'barista')).toMatchObject({
			exitCode: 1,
			stderr: expect.stringContaining('UNAVAILABLE'),
		});
		const said = sidecar
			.stdout()
			.split('\n')
			.find((line) => line.includes('instances-') && line.includes('state file ignored'));
		expect(JSON.parse(said ?? '{}')).toMatchObject({ level: 'warn', refusal });
		const { stdout } = await sidecar.stop();
		expect(stdout).not.toContain('serving the saved state');
	});
});

describe('against a real Consul', () => {
	it('the last instance deregistered is served, held and marked, for the hold; then the service is gone', async () => {
		await using consul = await startConsul({ binary });
		await register(consul, 'b1');
		await using place = await tempSocket();
		await using _sidecar = await startSidecar(place.path, ['--consul', consul.url, '--empty-hold-ms', '3000']);
		await using diplomat = await connect({ path: place.path });
		await diplomat.getService('barista');
		await consul.put('/v1/agent/service/deregister/b1');
		await waitFor('the hold', async () => (await diplomat.getInstances('barista')).held === true);
		expect(await diplomat.getService('barista')).toMatchObject({ port: 8765, stale: true });
		expect(await diplomat.explain('barista')).toMatchObject({
			state: 'held',
			held: { forMs: expect.any(Number), endsInMs: expect.any(Number) },
			watcherCount: 1,
		});
		await register(consul, 'b1');
		await waitFor('the end of the hold', async () => (await diplomat.getService('barista')).stale === undefined);
		await consul.put('/v1/agent/service/deregister/b1');
		await waitFor('the end of the service', () => {
			return diplomat.getService('barista').then(
				() => undefined,
				(error: { code: string }) => error.code === 'NO_SUCH_SERVICE',
			);
		});
	});

	it('a warning instance has the weight it registered for that; of 0 it gets no work', async () => {
		await using consul = await startConsul({ binary });
		await register(consul, 'b1', { Weights: { Passing: 10, Warning: 0 } });
		await register(consul, 'b2', { Port: 8766, Weights: { Passing: 10, Warning: 3 } });
		await using place = await tempSocket();
		await using _sidecar = await startSidecar(place.path, ['--consul', consul.url]);
		await using diplomat = await connect({ path: place.path });
		await consul.put('/v1/agent/check/warn/check-b1');
		await consul.put('/v1/agent/check/warn/check-b2');
		const weights = async () => (await diplomat.getInstances('barista')).instances.map(({ weight }) => weight);
		await waitFor('the weights', async () => String(await weights()) === '0,3');
		for (let turn = 0; turn < 4; turn++) expect(await diplomat.getService('barista')).toMatchObject({ port: 8766 });
		for (let turn = 0; turn < 4; turn++) {
			expect(await diplomat.getService('barista', { fresh: true })).toMatchObject({ port: 8766 });
		}
		expect((await diplomat.explain('barista')).instances).toMatchObject([
			{ included: false, reason: 'the check "queue" warns; its weight is 0, and others have more' },
			{ included: true, weight: 3, checks: expect.arrayContaining([expect.objectContaining({ status: 'warning' })]) },
		]);
	});

	it('in a panic all instances are served, by the sidecar and by the client', async () => {
		await using consul = await startConsul({ binary });
		for (const id of ['b1', 'b2', 'b3']) await register(consul, id);
		await using place = await tempSocket();
		await using _sidecar = await startSidecar(place.path, ['--consul', consul.url, '--panic-threshold', '0.5']);
		await using diplomat = await connect({ path: place.path });
		await diplomat.getService('barista');
		for (const id of ['b1', 'b2']) await consul.put(`/v1/agent/check/fail/check-${id}`);
		await waitFor('the panic', async () => (await diplomat.getInstances('barista')).panic === true);
		for (const fresh of [false, true]) {
			const names = new Set<string>();
			for (let turn = 0; turn < 6; turn++) names.add((await diplomat.getService('barista', { fresh })).instance);
			expect([...names].sort()).toEqual(['test/b1', 'test/b2', 'test/b3']);
		}
		const { stdout } = await command(place, 'explain', 'barista');
		expect(stdout).toContain('panic     too few instances are healthy: all are served');
		await consul.put('/v1/agent/check/pass/check-b1');
		await waitFor('the end', async () => (await diplomat.getInstances('barista')).panic === undefined);
	});

	it('maxAgeMs asks Consul out of turn, and a token that may read nothing is ACL_DENIED', async () => {
		const token = '11111111-2222-3333-4444-555555555555';
		const acl = `acl { enabled = true default_policy = "deny" tokens { initial_management = "${token}" agent = "${token}" } }`;
		await using consul = await startConsul({ binary, hcl: [acl], token });
		await register(consul, 'b1');
		await using place = await tempSocket();
		const env = { CONSUL_HTTP_TOKEN: token };
		await using _sidecar = await startSidecar(place.path, ['--consul', consul.url], { env });
		await using diplomat = await connect({ path: place.path });
		const first = await diplomat.getInstances('barista');
		await waitFor('time to pass', () => Date.now() > first.verifiedAt + 50);
		const verified = await diplomat.getInstances('barista', { maxAgeMs: 10 });
		expect(verified).toMatchObject({ source: 'live', revision: first.revision });
		expect(verified.verifiedAt).toBeGreaterThan(first.verifiedAt);

		await using other = await tempSocket();
		const wrong = { CONSUL_HTTP_TOKEN: '99999999-2222-3333-4444-555555555555' };
		await using _denied = await startSidecar(other.path, ['--consul', consul.url], { env: wrong });
		await using denied = await connect({ path: other.path });
		await expect(denied.getService('barista')).rejects.toMatchObject({ code: 'ACL_DENIED', retryable: false });
		expect(await denied.explain('barista')).toMatchObject({ state: 'cold', error: expect.stringContaining('ACL') });
	});
});
