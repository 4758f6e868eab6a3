import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { spawnProcess, startSidecar, tempSocket, waitFor } from '@spock/testkit';
import { beforeAll, expect, it } from 'vitest';

const directory = fileURLToPath(new URL('.', import.meta.url));
const binary = fileURLToPath(new URL('../../node_modules/.cache/spock-go/grpc-go-client', import.meta.url));

// `npm test -- --servers` has done it before, for all to see: the first time its modules are downloaded and compiled.
beforeAll(() => void execFileSync('go', ['build', '-o', binary, '.'], { cwd: directory }), 600_000);

it('the client in Go asks, follows a change, and goes on when the sidecar is restarted', async () => {
	await using place = await tempSocket();
	const file = join(place.directory, 'services.json');
	const register = (...ports: number[]): void => {
		const barista = ports.map((port) => ({ host: '1.2.3.4', port }));
		writeFileSync(file, JSON.stringify({ services: { barista } }));
	};
	register(8765);
	const grpc = `unix:${join(place.directory, 'grpc.sock')}`;
	const flags = ['--services', file, '--grpc', grpc];
	const first = await startSidecar(place.path, flags);
	await using run = spawnProcess(binary, [grpc, 'barista', '3']);
	await waitFor('the first state', () => run.stdout().includes('barista: [1.2.3.4:8765]'));
	register(8765, 8766);
	await waitFor('the change', () => run.stdout().includes('[1.2.3.4:8765 1.2.3.4:8766]'));
	await first.stop('SIGKILL');
	register(8767);
	await using _second = await startSidecar(place.path, flags);
	expect(await run.finished).toMatchObject({
		exitCode: 0,
		stderr: '',
		stdout: [
			'health: SERVING',
			'barista: 1.2.3.4:8765',
			'barista: [1.2.3.4:8765]',
			'barista: [1.2.3.4:8765 1.2.3.4:8766]',
			'barista: [1.2.3.4:8767]',
			'',
		].join('\n'),
	});
	await using unknown = spawnProcess(binary, [grpc, 'nobody', '0']);
	expect(await unknown.finished).toMatchObject({
		exitCode: 0,
		stdout: expect.stringContaining('nobody: NO_SUCH_SERVICE: no instance of "nobody" is registered'),
	});
});
