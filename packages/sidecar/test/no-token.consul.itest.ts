import { createHash } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

import {
	MANAGEMENT_TOKEN,
	type RunningProcess,
	runSidecar,
	startAclConsul,
	startSidecar,
	tempSocket,
	waitFor,
} from '@spock/testkit';
import { expect, it } from 'vitest';

/** Known to nobody: good in form, and never granted. */
const SECRETS = {
	given: 'deadbeef-0000-4000-8000-00000000a001',
	file: 'deadbeef-0000-4000-8000-00000000a002',
	granted: 'deadbeef-0000-4000-8000-00000000a003',
	bearer: `eyJhbGciOiJub25lIn0.${Buffer.from('{"sub":"secret-pod"}').toString('base64url')}.c2VjcmV0LXNpZ25hdHVyZQ`,
	lines: 'deadbeef-first-line',
} as const;
const ACCESSOR = 'deadbeef-0000-4000-8000-0000000000aa';

/** What one sidecar says anywhere: logs, what its commands print, its metrics and probes. */
async function everythingOf(sidecar: RunningProcess, path: string, admin: string): Promise<string> {
	const commands = [
		['status'],
		['status', '--json'],
		['get', 'barista'],
		['list'],
		['health'],
		['call', 'getInstances', '{"service":"barista"}'],
		['call', 'explain', '{"service":"barista"}'],
		['call', 'status'],
	];
	const said: string[] = [];
	for (const args of commands) {
		const { stdout, stderr } = await runSidecar([...args, '--socket', path, '--timeout', '2000']).finished;
		said.push(stdout, stderr);
	}
	const pages = ['/metrics', '/readyz', '/livez', '/', '/status.json', '/service.json?key=barista'];
	for (const page of pages) said.push(await (await fetch(`${admin}${page}`)).text());
	return [...said, sidecar.stdout(), sidecar.stderr()].join('\n');
}

interface Failure {
	readonly what: string;
	readonly args?: readonly string[];
	readonly env?: Readonly<Record<string, string>>;
	/** What the log says when the failure has been met. */
	readonly says: RegExp;
}

it('no token is in any log, metric, error or status, whatever fails', async () => {
	await using consul = await startAclConsul();
	await using place = await tempSocket();
	const at = (name: string): string => join(place.directory, name);
	const file = (name: string, text: string): string => {
		writeFileSync(at(name), text);
		return at(name);
	};
	// A proxy that shows back what it was sent, as bad ones do.
	const echo = createServer((request, response) => {
		const { 'x-consul-token': token } = request.headers;
		response.writeHead(500, { 'content-type': 'text/plain' }).end(`what is ${String(token)}? ${'x'.repeat(100)}`);
	});
	await new Promise<void>((resolve) => echo.listen(0, '127.0.0.1', resolve));
	const echoUrl = `http://127.0.0.1:${(echo.address() as AddressInfo).port}`;
	const failures: readonly Failure[] = [
		{ what: 'a token that Consul does not know', env: { CONSUL_HTTP_TOKEN: SECRETS.given }, says: /ACL_DENIED/ },
		{ what: 'the same from a file', args: ['--consul-token-file', file('token', SECRETS.file)], says: /ACL_DENIED/ },
		{
			what: 'a file of two lines',
			args: ['--consul-token-file', file('lines', `${SECRETS.lines}\nmore`)],
			says: /must contain one token and nothing else/,
		},
		{ what: 'a file that is missing', args: ['--consul-token-file', at('nowhere')], says: /ENOENT/ },
		{ what: 'no token', says: /ACL_DENIED/ },
		{
			what: 'a login that is refused',
			args: [
				'--consul-login-method',
				'pods',
				'--consul-login-token-file',
				file('bearer', SECRETS.bearer),
				'--consul-login-meta',
				'pod=a,zone=b',
			],
			says: /Consul login failed/,
		},
		{
			what: 'Consul away',
			env: { CONSUL_HTTP_TOKEN: SECRETS.given, CONSUL_HTTP_ADDR: 'http://127.0.0.1:1' },
			says: /UNAVAILABLE/,
		},
		{ what: 'an echo', env: { CONSUL_HTTP_TOKEN: SECRETS.given, CONSUL_HTTP_ADDR: echoUrl }, says: /answered 500/ },
		{
			what: 'an echo of the bearer',
			env: { CONSUL_HTTP_ADDR: echoUrl },
			args: ['--consul-login-method', 'pods', '--consul-login-token-file', at('bearer')],
			says: /Consul login failed/,
		},
	];
	for (const [number, { what, args = [], env = {}, says }] of failures.entries()) {
		const path = at(`s${number}.sock`);
		const settings = ['--backend', 'consul', '--admin', '127.0.0.1:0', '--log-level', 'trace', ...args];
		const whole = { CONSUL_HTTP_ADDR: consul.url, ...env };
		const printed = await runSidecar(['start', '--print-config', ...settings], { env: whole }).finished;
		await using sidecar = await startSidecar(path, settings, { env: whole });
		const admin = await waitFor(
			'the admin port',
			() => /"address":"([^"]+)","msg":"admin port/.exec(sidecar.stdout())?.[1],
		);
		await runSidecar(['get', 'barista', '--socket', path, '--timeout', '2000']).finished;
		await waitFor(`${what} in the log`, () => says.test(sidecar.stdout()));
		const said = await everythingOf(sidecar, path, admin.startsWith('http') ? admin : `http://${admin}`);
		const { stdout, stderr } = await sidecar.stop();
		for (const [name, secret] of Object.entries(SECRETS)) {
			expect(said + stdout + stderr + printed.stdout + printed.stderr, `${what}: ${name}`).not.toContain(secret);
		}
		expect(said + stdout).not.toContain(SECRETS.bearer.split('.')[2]);
	}
	echo.close();
});

it('neither is it when a good token is revoked, and its file becomes bad, while it runs', async () => {
	await using consul = await startAclConsul();
	const rules = 'service_prefix "" { policy = "read" } node_prefix "" { policy = "read" }';
	await consul.put('/v1/acl/policy', { Name: 'read-all', Rules: rules });
	await consul.put('/v1/acl/token', {
		AccessorID: ACCESSOR,
		SecretID: SECRETS.granted,
		Policies: [{ Name: 'read-all' }],
	});
	await consul.put('/v1/agent/service/register', { Name: 'barista', ID: 'b1', Address: '1.2.3.4', Port: 8765 });
	await using place = await tempSocket();
	const tokenFile = join(place.directory, 'token');
	writeFileSync(tokenFile, SECRETS.granted);
	const settings = [
		'--consul',
		consul.url,
		'--consul-token-file',
		tokenFile,
		'--admin',
		'127.0.0.1:0',
		'--log-level',
		'trace',
	];
	await using sidecar = await startSidecar(place.path, settings);
	const admin = await waitFor(
		'the admin port',
		() => /"address":"([^"]+)","msg":"admin port/.exec(sidecar.stdout())?.[1],
	);
	const get = () => runSidecar(['get', 'barista', '--socket', place.path]).finished;
	expect(await get()).toMatchObject({ exitCode: 0, stdout: '1.2.3.4:8765\n' });
	writeFileSync(tokenFile, `${SECRETS.granted}\n${SECRETS.lines}`);
	await fetch(`${consul.url}/v1/acl/token/${ACCESSOR}`, {
		method: 'DELETE',
		headers: { 'x-consul-token': MANAGEMENT_TOKEN },
	});
	await consul.put('/v1/agent/service/register', { Name: 'barista', ID: 'b1', Address: '1.2.3.5', Port: 8765 });
	await waitFor('the denial', () => sidecar.stdout().includes('ACL_DENIED'));
	await waitFor('the bad file', () => sidecar.stdout().includes('must contain one token and nothing else'));
	// What was known is served on.
	expect(await get()).toMatchObject({
		exitCode: 0,
		stdout: '1.2.3.4:8765\n',
		stderr: expect.stringContaining('not live'),
	});
	rmSync(tokenFile);
	const said = await everythingOf(sidecar, place.path, admin.startsWith('http') ? admin : `http://${admin}`);
	const { stdout, stderr } = await sidecar.stop();
	// The word is part of a secret, not of its hash, which a fingerprint might have been.
	const fingerprint = createHash('sha256').update(SECRETS.granted).digest('hex');
	for (const secret of [...Object.values(SECRETS), fingerprint]) expect(said + stdout + stderr).not.toContain(secret);
});
