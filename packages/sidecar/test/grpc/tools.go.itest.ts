import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import {
	makeAuthority,
	type ProcessResult,
	type RunningProcess,
	spawnProcess,
	startSidecar,
	tempSocket,
	waitFor,
} from '@spock/testkit';
import { beforeAll, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../../../', import.meta.url));
const proto = join(root, 'packages/sidecar/proto');
const contract = 'spock/v1/discovery.proto';
let tools: string;

// Built once, from the Go module proxy; a minute when they are not there yet.
beforeAll(() => {
	tools = execFileSync('bash', [join(root, 'tools/grpc-tools.sh')], { encoding: 'utf8' }).trim();
}, 600_000);

/** A sidecar with a front at a socket and at a port. */
async function start(directory: string, path: string): Promise<{ sidecar: RunningProcess; unix: string; tcp: string }> {
	const unix = `unix:${join(directory, 'grpc.sock')}`;
	const services = join(root, 'examples/services.json');
	const flags = ['--services', services, '--grpc', unix, '--grpc', '127.0.0.1:0', '--grace-ms', '1500'];
	const sidecar = await startSidecar(path, flags);
	await waitFor('the front', () => sidecar.stdout().includes('gRPC listening'));
	const [, tcp = ''] = /"(127\.0\.0\.1:\d+)"\],"msg":"gRPC listening"/.exec(sidecar.stdout()) ?? [];
	return { sidecar, unix, tcp };
}

async function run(name: string, ...args: string[]): Promise<ProcessResult> {
	await using process = spawnProcess(join(tools, name), args);
	return await process.finished;
}

const grpcurl = (...args: string[]): Promise<ProcessResult> => run('grpcurl', '-plaintext', ...args);

it('grpcurl finds the services by reflection, and calls them, at both kinds of address', async () => {
	await using place = await tempSocket();
	const { sidecar, unix, tcp } = await start(place.directory, place.path);
	await using _sidecar = sidecar;
	for (const address of [unix, tcp]) {
		const { stdout } = await grpcurl(address, 'list');
		expect(stdout.trim().split('\n')).toEqual([
			'grpc.health.v1.Health',
			'grpc.reflection.v1.ServerReflection',
			'grpc.reflection.v1alpha.ServerReflection',
			'spock.v1.Discovery',
		]);
		const got = await grpcurl('-d', '{"service":"barista"}', address, 'spock.v1.Discovery/Get');
		expect(JSON.parse(got.stdout)).toMatchObject({
			instance: { host: '127.0.0.1', port: 8765, status: 'STATUS_PASSING' },
			freshness: { source: 'SOURCE_LIVE' },
		});
	}
	const described = await grpcurl(tcp, 'describe', 'spock.v1.Freshness');
	expect(described.stdout).toContain('uint64 verified_at_ms = 3;');
	const unknown = await grpcurl(tcp, 'describe', 'spock.v1.Nothing');
	expect(unknown.stderr).toContain('Symbol not found: spock.v1.Nothing');
});

it('grpcurl shows what Watch, List, Explain and an error are', async () => {
	await using place = await tempSocket();
	const { sidecar, tcp } = await start(place.directory, place.path);
	await using _sidecar = sidecar;
	const listed = await grpcurl(tcp, 'spock.v1.Discovery/List');
	expect(JSON.parse(listed.stdout).services).toHaveLength(4);
	const tagged = '{"service":"employee","tags":["v2"]}';
	const watched = await grpcurl('-max-time', '1', '-d', tagged, tcp, 'spock.v1.Discovery/Watch');
	expect(JSON.parse(watched.stdout)).toMatchObject({ instances: [{ id: 'employee-3', zone: 'eu-1a' }] });
	const explained = await grpcurl('-d', '{"service":"till"}', tcp, 'spock.v1.Discovery/Explain');
	expect(JSON.parse(explained.stdout)).toMatchObject({ state: 'fresh', instances: [{ status: 'STATUS_CRITICAL' }] });
	const refused = await grpcurl('-v', '-d', '{"service":"till"}', tcp, 'spock.v1.Discovery/Get');
	expect(refused.stdout).toContain('spock-code: NO_HEALTHY_INSTANCE');
	expect(refused.stderr).toContain('Code: Unavailable');
});

it('grpc_health_probe says by its exit code whether the sidecar is ready', async () => {
	await using place = await tempSocket();
	const { sidecar, unix, tcp } = await start(place.directory, place.path);
	await using _sidecar = sidecar;
	const probe = (...args: string[]): Promise<ProcessResult> => run('grpc_health_probe', ...args);
	expect(await probe(`-addr=${tcp}`)).toMatchObject({ exitCode: 0 });
	expect(await probe(`-addr=${unix}`, '-service=spock.v1.Discovery')).toMatchObject({ exitCode: 0 });
	expect(await probe(`-addr=${tcp}`, '-service=nobody')).toMatchObject({
		exitCode: 3,
		stderr: expect.stringContaining('NotFound'),
	});
	sidecar.child.kill('SIGTERM');
	await waitFor('the end to begin', () => sidecar.stdout().includes('shutting down'));
	expect(await probe(`-addr=${tcp}`)).toMatchObject({ exitCode: 4 });
	expect(await probe(`-addr=${tcp}`, '-service=liveness')).toMatchObject({ exitCode: 0 });
	expect(await sidecar.finished).toMatchObject({ exitCode: 0 });
	expect(await probe(`-addr=${tcp}`, '-connect-timeout=200ms')).toMatchObject({ exitCode: 2 });
});

it('speaks TLS to those who trust it, and wants the token of the others too', async () => {
	await using place = await tempSocket();
	const authority = makeAuthority();
	const files = { ca: authority.ca, ...authority.issue(), token: 'a-token-of-sixteen-letters\n' };
	const path = (name: string): string => join(place.directory, name);
	for (const [name, text] of Object.entries(files)) writeFileSync(path(name), text, { mode: 0o600 });
	const tls = ['--tls-cert', path('cert'), '--tls-key', path('key'), '--token-file', path('token')];
	const services = ['--services', join(root, 'examples/services.json')];
	await using sidecar = await startSidecar(place.path, [...services, '--grpc', 'tls://127.0.0.1:0', ...tls]);
	await waitFor('the front', () => sidecar.stdout().includes('gRPC listening'));
	const [, address = ''] = /"tls:\/\/(127\.0\.0\.1:\d+)"\],"msg":"gRPC listening"/.exec(sidecar.stdout()) ?? [];
	const get = ['-d', '{"service":"barista"}', address, 'spock.v1.Discovery/Get'];
	const trusting = ['-cacert', path('ca'), '-H', 'authorization: Bearer a-token-of-sixteen-letters'];
	const got = await run('grpcurl', ...trusting, ...get);
	expect(JSON.parse(got.stdout)).toMatchObject({ instance: { host: '127.0.0.1' } });
	const nameless = await run('grpcurl', '-cacert', path('ca'), '-import-path', proto, '-proto', contract, ...get);
	expect(nameless.stderr).toContain('Code: Unauthenticated');
	const probe = ['-tls', '-tls-ca-cert', path('ca'), '-tls-server-name', '127.0.0.1', `-addr=${address}`];
	expect(await run('grpc_health_probe', ...probe)).toMatchObject({ exitCode: 0 });
});

it('what is made of the contract is up to date: otherwise run `npm run tables grpc`', async () => {
	await using check = spawnProcess(process.execPath, [join(root, 'tools/grpc-descriptors.js'), '--check']);
	expect(await check.finished).toMatchObject({ exitCode: 0, stderr: '' });
});
