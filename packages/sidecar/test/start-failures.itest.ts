import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';

import { runSidecar, sidecarBin, spawnProcess, type TempSocket, tempSocket, waitFor } from '@spock/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

let place: TempSocket;
const taken = createServer();
let port: number;

beforeAll(async () => {
	place = await tempSocket();
	taken.listen(0, '127.0.0.1');
	await once(taken, 'listening');
	port = (taken.address() as AddressInfo).port;
	writeFileSync(join(place.directory, 'bad'), 'no: [PEM');
	writeFileSync(join(place.directory, 'shared-tokens'), 'till: the-s3cret-of-both\nbarista: the-s3cret-of-both\n');
	writeFileSync(join(place.directory, 'half-a-line'), 'till: the-s3cret-of-the-till\nbarista:\n');
	writeFileSync(join(place.directory, 'blocked.sock.take-over'), 'precious');
	createServer().listen(join(place.directory, 'taken.sock')).unref();
});

afterAll(async () => {
	taken.close();
	await place?.[Symbol.asyncDispose]();
});

/** `%` stands for the directory, `#` for a port that is taken. */
const START: readonly [what: string, flags: string, exitCode: number, reason: string][] = [
	['a flag that there is not', '--no-such-flag', 2, "unknown option '--no-such-flag' (--help lists"],
	['a value that is none', '--grace-ms soon', 2, '--grace-ms must be a duration'],
	['a limit out of range', '--frame-bytes-max 10', 2, 'frameBytesMax'],
	[
		'an option of Consul out of range',
		'--backend consul --consul-held-max 0',
		2,
		'--consul-held-max must be an integer',
	],
	['an option of DNS out of range', '--backend dns --dns-ttl-ms-min 0', 2, '--dns-ttl-ms-min must be an integer'],
	[
		'too small a log of events',
		'--events %/events --events-bytes-max 5',
		2,
		'--events-bytes-max must be at least 8388608',
	],
	['no config file', '--config %/none', 2, 'the config file'],
	['a bad config file', '--config %/bad', 2, 'the config file'],
	['no services file', '--services %/none', 2, 'none does not exist'],
	['a bad services file', '--services %/bad', 2, 'bad:1:'],
	['no TLS file', '--listen tls://127.0.0.1:0 --tls-cert %/none --tls-key %/none', 2, 'none'],
	['a bad TLS file', '--listen tls://127.0.0.1:0 --tls-cert %/bad --tls-key %/bad', 2, 'the TLS file is bad'],
	['no token file', '--listen 127.0.0.1:0 --token-file %/none', 2, 'none'],
	[
		'one token of two apps',
		'--listen 127.0.0.1:0 --token-file %/shared-tokens',
		2,
		'till and barista have the same token',
	],
	[
		'an app without a token',
		'--listen 127.0.0.1:0 --token-file %/half-a-line',
		2,
		'the token of barista must be 16 to 512',
	],
	['a port for everybody', '--listen 0.0.0.0:0', 2, '--listen-any'],
	['gRPC for everybody', '--grpc 0.0.0.0:0', 2, '--grpc-any'],
	['an admin port for everybody', '--admin 0.0.0.0:0', 2, '--admin-any'],
	['the same when it takes a place over', '--admin 0.0.0.0:0 --take-over', 2, '--admin-any'],
	['an admin port that is none', '--admin somewhere', 2, '--admin must be HOST:PORT'],
	['a module that is not there', '--backend %/none.js', 2, 'cannot be loaded'],
	['an address of Consul that is none', '--backend consul --consul ftp://x', 2, 'ftp://x'],
	[
		'an upstream with a password',
		'--upstream tls://ann:s3cret@h:1',
		2,
		'--upstream must not hold credentials: use --upstream-',
	],
	[
		'the same without a scheme',
		'--upstream s3cret@h:1',
		2,
		'--upstream must not hold credentials: use --upstream-token',
	],
	['an address of another machine', '--listen 192.0.2.1:4000 --listen-any', 2, 'this machine does not have'],
	['no directory for the socket', '--socket %/no/dir/s.sock', 2, 'its directory does not exist'],
	['a file in the place of the socket', '--socket %/bad', 2, 'exists and is not a socket'],
	['a file in the place of the private socket', '--socket %/blocked.sock', 2, 'is not a socket: remove it'],
	['a path that is too long', `--socket %/${'x'.repeat(120)}`, 2, 'bytes'],
	['a port that is taken', '--listen 127.0.0.1:#', 1, 'another process listens there'],
	['an admin port that is taken', '--admin 127.0.0.1:#', 1, 'another process listens there'],
	['a port of gRPC that is taken', '--grpc 127.0.0.1:#', 1, 'another process listens there'],
	['a socket that is taken', '--socket %/taken.sock', 1, 'already listens'],
];

function argsOf(flags: string): string[] {
	const given = flags.replaceAll('%', place.directory).replaceAll('#', String(port)).split(' ');
	return ['start', ...(given.includes('--socket') ? [] : ['--socket', place.path]), ...given];
}

describe('a variable that is misspelt', () => {
	it('is told in the log with the one that was meant, and without its value', async () => {
		const env = { SPOCK_ADMN: 'a-secret', SPOCK_SOCKET: join(place.directory, 'vars.sock'), SPOCK_GRACE_MS: '0' };
		await using run = runSidecar(['start', '--backend', 'local'], { env });
		await waitFor('the start', () => run.stdout().includes('"msg":"listening"'));
		const { stdout } = await run.stop();
		expect(stdout).toContain(
			'"variable":"SPOCK_ADMN","meant":"SPOCK_ADMIN","msg":"unknown environment variable ignored"',
		);
		expect(stdout.match(/unknown environment variable/g)).toHaveLength(1);
		expect(stdout).not.toContain('a-secret');
	});
});

describe('a start that fails', () => {
	it.each(START)('for %s: the last line of the log says why, and the exit code who can mend it', async (...one) => {
		const [, flags, expected, reason] = one;
		await using run = runSidecar(argsOf(flags));
		const { exitCode, stdout, stderr } = await run.finished;
		expect([stderr, exitCode]).toEqual(['', expected]);
		const lines = stdout
			.trim()
			.split('\n')
			.map((line) => JSON.parse(line) as { readonly level: string; readonly reason: string });
		expect(lines.at(-1)).toMatchObject({
			level: 'fatal',
			pid: expect.any(Number),
			time: expect.stringMatching(/^\d{4}-/),
			exitCode: expected,
			reason: expect.stringContaining(reason),
			msg: 'the sidecar cannot start',
		});
		expect(stdout).not.toContain('s3cret');
		// It has not served: nothing of an end is told.
		expect(stdout).not.toMatch(/"msg":"stopp/);
	});

	it.each([
		['on a terminal', '--no-such-flag'],
		['on a terminal', '--services %/none'],
	])('%s says it in a line of text (%s)', async (_name, flags) => {
		const line = [process.execPath, sidecarBin, ...argsOf(flags)].join(' ');
		await using run = spawnProcess('script', ['--quiet', '--return', '--flush', '--command', line, '/dev/null']);
		const { exitCode, stdout } = await run.finished;
		expect([exitCode, stdout.trim().split('\n').length]).toEqual([2, 1]);
		expect(stdout).toMatch(/^sidecar: /);
	});

	it('for people, where the log is to be so', async () => {
		await using run = runSidecar([...argsOf('--services %/none'), '--log-format', 'pretty']);
		expect(await run.finished).toMatchObject({
			exitCode: 2,
			stdout: '',
			stderr: expect.stringMatching(/^sidecar: the services file .* does not exist\n$/),
		});
	});
});
