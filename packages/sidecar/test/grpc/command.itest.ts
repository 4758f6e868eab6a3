import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { status } from '@grpc/grpc-js';
import {
	type RunningProcess,
	reasonIn,
	runSidecar,
	startSidecar,
	type TempSocket,
	tempSocket,
	waitFor,
} from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { GrpcClient } from './grpc-client.ts';

function servicesFile({ directory }: TempSocket, port: number): string {
	const file = join(directory, `services-${port}.json`);
	writeFileSync(file, JSON.stringify({ services: { barista: [{ host: '1.2.3.4', port }] } }));
	return file;
}

/** The scripts that a process has loaded, which Node writes down when it ends. */
function scriptsIn(directory: string): string[] {
	return readdirSync(directory).flatMap((name) => {
		const { result } = JSON.parse(readFileSync(join(directory, name), 'utf8')) as { result: { url: string }[] };
		return result.map(({ url }) => url);
	});
}

function portOf({ instance }: Record<string, unknown>): number {
	return (instance as { readonly port: number }).port;
}

function saysGrpc(process: RunningProcess): Promise<unknown> {
	return waitFor('that it listens', () => process.stdout().includes('gRPC listening'));
}

describe('sidecar start --grpc', () => {
	it('may be given again; and nothing of gRPC is loaded without it', async () => {
		await using place = await tempSocket();
		const [without, with_] = [join(place.directory, 'without'), join(place.directory, 'with')];
		const services = servicesFile(place, 8765);
		await using plain = await startSidecar(place.path, ['--services', services], {
			env: { NODE_V8_COVERAGE: without },
		});
		await plain.stop();
		const path = join(place.directory, 'grpc.sock');
		const flags = ['--services', services, '--grpc', `unix:${path}`, '--grpc', '127.0.0.1:0'];
		await using sidecar = await startSidecar(place.path, flags, { env: { NODE_V8_COVERAGE: with_ } });
		await saysGrpc(sidecar);
		const [, tcp = ''] = /"(127\.0\.0\.1:\d+)"\],"msg":"gRPC listening"/.exec(sidecar.stdout()) ?? [];
		for (const address of [`unix:${path}`, tcp]) {
			using client = new GrpcClient(address);
			expect(portOf(await client.ask('Get', { service: 'barista' })), address).toBe(8765);
		}
		expect(await sidecar.stop()).toMatchObject({ exitCode: 0 });
		const isGrpc = (url: string): boolean => /@grpc|protobufjs|grpc-front-/.test(url);
		expect(scriptsIn(without).length).toBeGreaterThan(10);
		expect(scriptsIn(without).filter(isGrpc)).toEqual([]);
		expect(scriptsIn(with_).filter(isGrpc).length).toBeGreaterThan(0);
		expect(readdirSync(place.directory).filter((name) => name.includes('sock'))).toEqual([]);
	});

	it.each([
		['0.0.0.0:1', '--grpc-any'],
		['tls://127.0.0.1:1', '--tls-cert'],
		['50061', /--grpc: expected HOST:PORT.*got "50061"; or unix:PATH/],
	])('refuses %s, and says what to do', async (address, hint) => {
		await using place = await tempSocket();
		await using sidecar = runSidecar(['start', '--socket', place.path, '--backend', 'local', '--grpc', address]);
		const { exitCode, stdout } = await sidecar.finished;
		expect([exitCode, reasonIn(stdout)]).toEqual([2, expect.stringMatching(hint)]);
	});

	it('what is wrong with its path is mended with --grpc, and not with --socket', async () => {
		await using place = await tempSocket();
		const grpc = `unix:${join(place.directory, 'no', 'dir', 'g.sock')}`;
		const flags = ['--services', servicesFile(place, 8765), '--grpc', grpc];
		await using sidecar = runSidecar(['start', '--socket', place.path, '--backend', 'local', ...flags]);
		const { exitCode, stdout } = await sidecar.finished;
		expect(exitCode).toBe(2);
		expect(reasonIn(stdout)).toContain('choose another path with --grpc');
	});

	it('a socket that a killed sidecar left is taken over, and one that is in use is not', async () => {
		await using place = await tempSocket();
		const grpc = `unix:${join(place.directory, 'grpc.sock')}`;
		const flags = ['--services', servicesFile(place, 8765), '--grpc', grpc];
		await using killed = await startSidecar(place.path, flags);
		await saysGrpc(killed);
		using client = new GrpcClient(grpc);
		const told = client.watch({ service: 'barista' });
		await waitFor('the first state', () => told.messages.length === 1);
		await killed.stop('SIGKILL');
		await waitFor('the end of the stream', () => told.error !== undefined);
		expect(told.error).toMatchObject({ code: status.UNAVAILABLE });
		await expect(client.ask('Get', { service: 'barista' })).rejects.toMatchObject({ code: status.UNAVAILABLE });
		await using sidecar = await startSidecar(place.path, flags);
		await saysGrpc(sidecar);
		await waitFor('an answer of the next one', async () => {
			const answer = await client.ask('Get', { service: 'barista' }).catch(() => undefined);
			return answer !== undefined && portOf(answer) === 8765;
		});
		await using other = runSidecar(['start', '--socket', `${place.path}2`, ...flags]);
		expect(await other.finished).toMatchObject({
			exitCode: 1,
			stdout: expect.stringMatching(/a process already listens at .* or choose another path with --grpc/),
		});
	});

	it('another sidecar takes the place: streams end with UNAVAILABLE, and the next call is answered by that one', async () => {
		await using place = await tempSocket();
		const grpc = `unix:${join(place.directory, 'grpc.sock')}`;
		await using old = await startSidecar(place.path, ['--services', servicesFile(place, 1000), '--grpc', grpc]);
		await saysGrpc(old);
		using client = new GrpcClient(grpc);
		const told = client.watch({ service: 'barista' });
		await waitFor('the first state', () => told.messages.length === 1);
		const flags = ['--take-over', '--services', servicesFile(place, 2000), '--grpc', grpc];
		await using next = runSidecar(['start', '--socket', place.path, ...flags]);
		const failures: unknown[] = [];
		await waitFor('an answer of the next', async () => {
			const answer = await client.ask('Get', { service: 'barista' }).catch((error: unknown) => failures.push(error));
			return typeof answer === 'object' && portOf(answer) === 2000;
		});
		expect(failures).toEqual([]);
		expect(told.error).toMatchObject({ code: status.UNAVAILABLE, details: expect.stringContaining('connect again') });
		expect(await old.finished).toMatchObject({ exitCode: 0 });
		expect(next.child.exitCode).toBe(null);
	});
});
