import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { connect, createDiplomat } from '@spock/client';
import { type RunningProcess, reasonIn, runSidecar, type TempSocket, tempSocket, waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

const FIRST = 'first-token-0123456789';
const SECOND = 'second-token-9876543210';

function writeTokens(place: TempSocket, ...tokens: readonly string[]): string {
	const path = join(place.directory, 'tokens');
	writeFileSync(`${path}.new`, ['# who may speak', ...tokens, ''].join('\n'));
	renameSync(`${path}.new`, path);
	return path;
}

/** A sidecar of the command line at a TCP port that wants a token, and at a socket that wants none unless it is told so. */
async function startGuarded(...extra: readonly string[]) {
	const place = await tempSocket();
	const path = writeTokens(place, FIRST);
	const services = join(place.directory, 'services.json');
	writeFileSync(services, '{"services":{"barista":[{"host":"1.2.3.4","port":8765}]}}');
	const sidecar: RunningProcess = runSidecar([
		...['start', '--listen', '127.0.0.1:0', '--socket', place.path, '--token-file', path, '--admin', '127.0.0.1:0'],
		...['--backend', 'local', '--services', services, '--log-format', 'json', '--log-level', 'trace', ...extra],
	]);
	const port = await waitFor('the port', () => /,"127\.0\.0\.1:(\d+)"\],/.exec(sidecar.stdout())?.[1]);
	const admin = /"address":"(127\.0\.0\.1:\d+)"/.exec(sidecar.stdout())?.[1];
	return {
		place,
		path,
		sidecar,
		port: Number(port),
		metrics: async () => (await fetch(`http://${admin}/metrics`)).text(),
		[Symbol.asyncDispose]: async () => {
			await sidecar[Symbol.asyncDispose]();
			await place[Symbol.asyncDispose]();
		},
	};
}

describe('a token', () => {
	it('lets a client in over TCP; without one, or with a wrong one, it hears why', async () => {
		await using guarded = await startGuarded();
		const { port } = guarded;
		const patience = { port, readyTimeoutMs: 800, retryDelayMsMin: 50 };
		const diplomat = await connect({ ...patience, token: FIRST });
		expect(await diplomat.getService('barista')).toMatchObject({ host: '1.2.3.4' });
		await expect(connect(patience)).rejects.toMatchObject({
			code: 'TIMEOUT',
			message: expect.stringContaining('requires a token in hello'),
			details: { found: 'denied' },
			cause: { code: 'ACL_DENIED', retryable: false },
		});
		await expect(connect({ ...patience, token: SECOND })).rejects.toMatchObject({
			message: expect.stringContaining('does not accept the token in hello'),
		});
		const metrics = await guarded.metrics();
		expect(metrics).toMatch(/spock_connections_closed_total\{reason="denied"\} [1-9]/);
		// Over the socket, whose permissions decide, nobody is asked.
		await (await connect({ path: guarded.place.path })).drain();
		const status = JSON.stringify([diplomat.status(), await diplomat.request('status', null)]);
		await diplomat.drain();
		for (const text of [metrics, status, guarded.sidecar.stdout(), guarded.sidecar.stderr()]) {
			expect(text).not.toContain(FIRST);
			expect(text).not.toContain(SECOND);
		}
	});

	it('on the socket too, where that is wanted; the commands find theirs in a file or in the environment', async () => {
		await using guarded = await startGuarded('--token-on-socket');
		const at = ['get', 'barista', '--socket', guarded.place.path];
		expect(await runSidecar(at).finished).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('ACL_DENIED') });
		expect(await runSidecar([...at, '--token-file', guarded.path]).finished).toMatchObject({ exitCode: 0 });
		expect(await runSidecar(at, { env: { SPOCK_TOKEN: FIRST } }).finished).toMatchObject({ exitCode: 0 });
		const wrong = await runSidecar(at, { env: { SPOCK_TOKEN: SECOND } }).finished;
		expect(wrong).toMatchObject({ exitCode: 1, stderr: expect.not.stringContaining(SECOND) });
	});

	it('is exchanged without a restart: both are accepted for a while, then the old one is not', async () => {
		await using guarded = await startGuarded();
		const patience = { port: guarded.port, readyTimeoutMs: 400, retryDelayMsMin: 50, retryDelayMsMax: 100 };
		// A function is asked at every attempt: this client finds the new token by itself.
		const following = createDiplomat({
			...patience,
			token: () => readFileSync(guarded.path, 'utf8').split('\n').at(-2) as string,
		});
		await following.ready();
		const isLetIn = (token: string) => async (): Promise<boolean> =>
			connect({ ...patience, token }).then(
				(diplomat) => diplomat.drain().then(() => true),
				() => false,
			);
		expect(await isLetIn(SECOND)()).toBe(false);
		writeTokens(guarded.place, FIRST, SECOND);
		await waitFor('the second', isLetIn(SECOND));
		expect(await isLetIn(FIRST)()).toBe(true);
		writeTokens(guarded.place, 'short');
		await waitFor('the complaint', async () => {
			await isLetIn(SECOND)();
			return guarded.sidecar.stdout().includes('credentials are unusable');
		});
		expect(await isLetIn(SECOND)()).toBe(true);
		writeTokens(guarded.place, SECOND);
		await waitFor('the end of the first', async () => !(await isLetIn(FIRST)()));
		expect(await isLetIn(SECOND)()).toBe(true);
		// Who is in stays in.
		expect(await following.getService('barista')).toMatchObject({ host: '1.2.3.4' });
		await following.drain();
	});

	it('that cannot be had is said, and asked for again', async () => {
		await using guarded = await startGuarded();
		let asked = 0;
		const diplomat = createDiplomat({
			port: guarded.port,
			retryDelayMsMin: 10,
			token: async () => {
				asked++;
				if (asked < 3) throw new Error('the vault is locked');
				return FIRST;
			},
		});
		await diplomat.ready();
		expect(asked).toBe(3);
		expect(diplomat.status().lastError).toContain('the option token failed');
		await diplomat.drain();
		expect(() => createDiplomat({ token: '' })).toThrow('token must be a string that is not empty');
	});
});

describe('a sidecar that other machines can reach', () => {
	it('is refused without --listen-any, and with it warns of what is missing', async () => {
		const refused = await runSidecar(['start', '--listen', '0.0.0.0:0', '--backend', 'local']).finished;
		expect(refused).toMatchObject({ exitCode: 2, stdout: expect.stringContaining('--listen-any') });
		const args = ['start', '--listen', '0.0.0.0:0', '--listen-any', '--backend', 'local', '--log-format', 'json'];
		await using open = runSidecar(args);
		await waitFor('its address', () => open.stdout().includes('"msg":"listening"'));
		expect(open.stdout()).toContain('address without TLS');
		expect(open.stdout()).toContain('admits every client');
		await using guarded = runSidecar(args, { env: { SPOCK_TOKEN: FIRST } });
		await waitFor('its address', () => guarded.stdout().includes('"msg":"listening"'));
		expect(guarded.stdout()).toContain('address without TLS');
		expect(guarded.stdout()).not.toContain('admits every client');
	});

	it.each([
		[['--listen', 'tls://127.0.0.1:0'], 'needs --tls-cert and --tls-key'],
		[['--listen', '127.0.0.1:0', '--tls-cert', '/x'], 'is not tls://'],
		[['--tls-cert', '/x'], 'are for --listen tls://'],
		[['--token-on-socket'], 'needs --token-file'],
		[['--token-file', '/no/such/file'], 'cannot be read: ENOENT'],
		[['--listen', 'tls://127.0.0.1:0', '--tls-cert', '/no', '--tls-key', '/no'], 'ENOENT'],
	])('%j is wrong usage', async (args, message) => {
		const result = await runSidecar(['start', '--backend', 'local', ...args]).finished;
		expect([result.exitCode, reasonIn(result.stdout)]).toEqual([2, expect.stringContaining(message)]);
	});
});
