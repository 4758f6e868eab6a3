import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import {
	makeAuthority,
	type ProcessResult,
	type RunningProcess,
	runSidecar,
	sidecarBin,
	spawnProcess,
	type TempSocket,
	tempSocket,
	waitFor,
	withPlainCommands,
} from '@spock/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const TOKEN = 'a-token-of-some-length';

let place: TempSocket;
let sidecar: RunningProcess;
let port: string;
let ca: string;
let token: string;

async function command(...args: string[]): Promise<ProcessResult> {
	await using process = runSidecar(args);
	return await process.finished;
}

function written(name: string, text: string): string {
	const path = join(place.directory, name);
	writeFileSync(path, text);
	return path;
}

/** A sidecar at tls://127.0.0.1 and at a socket, both of which want the token. */
beforeAll(async () => {
	place = await tempSocket();
	const authority = makeAuthority();
	const { cert, key } = authority.issue();
	ca = written('ca.pem', authority.ca);
	token = written('token', TOKEN);
	const tls = ['--tls-cert', written('cert.pem', cert), '--tls-key', written('key.pem', key)];
	const services = written('services.json', '{"services":{"barista":[{"host":"a","port":1}]}}');
	const flags = ['--socket', place.path, '--listen', 'tls://127.0.0.1:0', ...tls, '--token-file', token];
	const more = ['--token-on-socket', '--services', services, '--grace-ms', '0', '--log-format', 'json'];
	sidecar = spawnProcess(process.execPath, [sidecarBin, 'start', ...flags, ...more]);
	port = await waitFor('the port', () => /tls:\/\/127\.0\.0\.1:(\d+)/.exec(sidecar.stdout())?.[1]);
});

afterAll(async () => {
	await sidecar?.[Symbol.asyncDispose]();
	await place?.[Symbol.asyncDispose]();
});

describe('what a command says when it is not let in', () => {
	it('a certificate that is not trusted: that, and how to trust it; no word of starting one', async () => {
		const address = `tls://127.0.0.1:${port}`;
		const { exitCode, stderr } = await command('get', 'barista', '--connect', address, '--token-file', token);
		expect(exitCode).toBe(3);
		expect(stderr).toContain(`the certificate of the sidecar at ${address} is not trusted: `);
		expect(stderr).toContain('--tls-ca or SPOCK_CONNECT_CA');
		expect(stderr).not.toContain('Start one');
		const trusting = ['--connect', address, '--token-file', token, '--tls-ca', ca];
		expect(await command('get', 'barista', ...trusting)).toMatchObject({ exitCode: 0, stdout: 'a:1\n' });
	});

	it('plain at a port with TLS: that it may speak TLS', async () => {
		const { exitCode, stderr } = await command('get', 'barista', '--connect', `127.0.0.1:${port}`);
		expect(exitCode).toBe(3);
		expect(stderr).toContain('closed the connection');
		expect(stderr).toContain(`If it speaks TLS: --connect tls://127.0.0.1:${port}`);
	});

	it('without a token, or with a wrong one: how to give it', async () => {
		const wrong = written('wrong', `${TOKEN}2`);
		for (const flags of [[], ['--token-file', wrong]]) {
			const { exitCode, stderr } = await command('get', 'barista', '--socket', place.path, ...flags);
			expect(exitCode).toBe(1);
			expect(stderr).toMatch(/ACL_DENIED: .* Give the token with --token-file or SPOCK_TOKEN\n$/);
		}
	});

	it('a port where nobody listens is no socket of a dead sidecar', async () => {
		const { exitCode, stderr } = await command('get', 'barista', '--connect', '127.0.0.1:1');
		expect(exitCode).toBe(3);
		expect(stderr).toContain('no sidecar at 127.0.0.1:1: no process listens there. Start one');
	});

	it('a service that nobody has is explained with where the names are, and 0', async () => {
		const { exitCode, stdout } = await command('explain', 'nope', '--socket', place.path, '--token-file', token);
		expect([exitCode, withPlainCommands(stdout)]).toEqual([
			0,
			expect.stringContaining('nope: no instance is registered; `sidecar list`'),
		]);
	});

	it('a service that is misspelt: which was meant, in get, explain and watch', async () => {
		const at = ['barrista', '--socket', place.path, '--token-file', token];
		const meant = 'did you mean "barista"? `sidecar list` shows the names';
		const got = await command('get', ...at);
		expect([got.exitCode, withPlainCommands(got.stderr)]).toEqual([
			1,
			`sidecar: NO_SUCH_SERVICE: no instance of "barrista" is registered; ${meant}\n`,
		]);
		const explained = await command('explain', ...at);
		expect(withPlainCommands(explained.stdout)).toContain(`barrista: no instance is registered; ${meant}\n`);
		await using watch = runSidecar(['watch', ...at]);
		await waitFor('the hint', () => watch.stderr().includes('\n'));
		const { stdout, stderr } = await watch.stop();
		expect([stdout, withPlainCommands(stderr)]).toEqual([
			expect.stringContaining('no instance'),
			`no instance yet; ${meant}\n`,
		]);
	});

	it.each([
		[['--tag', 'v9'], 'without --tag, shows all instances'],
		[['--meta', 'a=b'], 'without --meta, shows all instances'],
		[['--tag', 'v9', '--meta', 'a=b'], 'without --tag and --meta, shows all instances'],
		[['--datacenter', 'dc9'], 'without --datacenter, shows where it is known'],
	])('a service that is there, and not with these flags: without which it is found: %j', async (flags, without) => {
		const { stderr } = await command('get', 'barista', ...flags, '--socket', place.path, '--token-file', token);
		expect(withPlainCommands(stderr)).toContain(`; \`sidecar explain barista\`, ${without}\n`);
	});

	it('a file that cannot be read is told with the flag or the variable that names it', async () => {
		const nofile = join(place.directory, 'nofile');
		for (const flag of ['--tls-ca', '--tls-cert', '--tls-key', '--token-file']) {
			const { exitCode, stderr } = await command(
				'get',
				'barista',
				'--connect',
				`tls://127.0.0.1:${port}`,
				flag,
				nofile,
			);
			expect(exitCode).toBe(2);
			expect(stderr).toContain(`the file of ${flag} cannot be read: ENOENT`);
			expect(stderr).toContain(nofile);
		}
		await using asked = runSidecar(['get', 'barista', '--connect', `tls://127.0.0.1:${port}`], {
			env: { SPOCK_CONNECT_CA: nofile },
		});
		expect((await asked.finished).stderr).toContain('the file of SPOCK_CONNECT_CA cannot be read: ENOENT');
	});
});
