import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';

import {
	FakeDns,
	reasonIn,
	runSidecar,
	startFakeConsul,
	startSidecar,
	type TempSocket,
	tempSocket,
	waitFor,
} from '@spock/testkit';
import { describe, expect, it } from 'vitest';

const JSON_LOG = ['--log-format', 'json'];

function write(place: TempSocket, name: string, text: string): string {
	const file = join(place.directory, name);
	writeFileSync(file, text);
	return file;
}

const servicesFile = (place: TempSocket, services: object): string =>
	write(place, 'services.json', JSON.stringify({ services }));

async function command(place: TempSocket, ...args: readonly string[]): Promise<string> {
	await using run = runSidecar([...args, '--socket', place.path]);
	const { stdout, stderr } = await run.finished;
	return (stdout + stderr).trim();
}

describe('sidecar start --backend', () => {
	it('dns serves SRV records, is ready although DNS cannot list, and says so when asked to', async () => {
		await using dns = await FakeDns.listen();
		dns.setService('_http._tcp.barista.test', ['10.0.0.1:80']);
		await using place = await tempSocket();
		const template = '_http._tcp.{service}.test';
		const args = ['--backend', 'dns', '--dns-server', dns.address, '--dns-name-template', template, ...JSON_LOG];
		await using sidecar = await startSidecar(place.path, [...args, '--dns-ttl-ms-min', '20']);
		expect(await command(place, 'get', 'barista')).toBe('10.0.0.1:80');
		expect(await command(place, 'get', 'nobody')).toContain('NO_SUCH_SERVICE');
		expect(await command(place, 'list')).toContain('DNS cannot list services');
		await waitFor('readiness', async () => (await command(place, 'health')).includes('ready'));
		expect(await command(place, 'status')).toContain('backend      dns up, last answer');
		dns.setService('_http._tcp.barista.test', ['10.0.0.2:80']);
		await waitFor('the change', async () => (await command(place, 'get', 'barista')) === '10.0.0.2:80');
		expect(sidecar.stdout()).toContain(`"backend":"dns (${dns.address})"`);
	});

	it('consul,local: the first that knows a service wins, also while Consul is away, and status tells of each', async () => {
		await using consul = await startFakeConsul();
		consul.set('barista', [{ id: 'b', address: '10.0.0.1', port: 80 }]);
		await using place = await tempSocket();
		const here = [{ host: '10.9.9.9', port: 99 }];
		const file = servicesFile(place, { barista: here, waiter: here });
		const args = ['--backend', 'consul,local', '--consul', consul.url, '--services', file];
		await using _sidecar = await startSidecar(place.path, args);
		expect(await command(place, 'get', 'barista')).toBe('10.0.0.1:80');
		expect(await command(place, 'get', 'waiter')).toBe('10.9.9.9:99');
		expect((await command(place, 'list')).split('\n').map((line) => line.trim())).toEqual([
			...['SERVICE  HEALTHY', 'barista  1/1', 'waiter   1/1'],
		]);
		await consul.stop();
		await waitFor('the outage', async () => (await command(place, 'status')).includes('consul down'));
		expect(await command(place, 'get', 'barista')).toContain('10.0.0.1:80');
		expect(await command(place, 'get', 'waiter')).toContain('10.9.9.9:99');
		const status = await command(place, 'status');
		expect(status).toMatch(/^backend +consul down, last answer [\d.]+ m?s ago: http:\/\/127\.0\.0\.1:\d+$/m);
		expect(status).toMatch(/^backend +local up, last answer \d+ ms ago: .*services\.json$/m);
	});

	it('consul,local without any Consul is ready, and serves what only the file knows', async () => {
		await using place = await tempSocket();
		const file = servicesFile(place, { barista: [{ host: '10.9.9.9', port: 99 }] });
		const config = write(
			place,
			'spock.yaml',
			`backend: [consul, local]\nconsul: http://127.0.0.1:1\nservices: ${file}\n`,
		);
		await using sidecar = await startSidecar(place.path, ['--config', config, ...JSON_LOG]);
		expect(await command(place, 'get', 'barista')).toContain('10.9.9.9:99');
		await waitFor('readiness', async () => (await command(place, 'health')).includes('ready'));
		expect(await command(place, 'get', 'nobody')).toContain('UNAVAILABLE');
		expect(sidecar.stdout()).toContain('"backend":"consul (http://127.0.0.1:1), then local (');
	});

	it('without any service list says what an empty answer may mean, on stderr alone', async () => {
		await using place = await tempSocket();
		await using _sidecar = await startSidecar(place.path, ['--backend', 'local']);
		await using run = runSidecar(['list', '--socket', place.path]);
		expect(await run.finished).toMatchObject({
			stdout: '',
			stderr: expect.stringContaining('the ACL token may not read any'),
		});
	});

	it('a module is loaded by its path and given what it needs', async () => {
		await using place = await tempSocket();
		const module = write(
			place,
			'my-backend.mjs',
			`export default ({ onEvent, clock }) => ({
				name: 'mine',
				watch: (query, observer) => {
					const here = { instance: 'i', host: '10.1.1.1', port: 7, weight: 1, status: 'passing', tags: [], meta: {}, zone: null, datacenter: null };
					observer.answered(query.service === 'barista' ? [here] : []);
					onEvent({ type: 'backend-query', outcome: 'ok', durationMs: clock.now() - clock.now() });
					return { stop: () => undefined };
				},
				list: async () => [{ name: 'barista', tags: [] }],
				status: () => ({ name: 'mine', state: 'up', addresses: [], error: null, lastSuccessAgeMs: 0 }),
				close: async () => undefined,
			});`,
		);
		const file = servicesFile(place, { waiter: [{ host: '10.9.9.9', port: 99 }] });
		await using _sidecar = await startSidecar(place.path, ['--backend', `${module},local`, '--services', file]);
		expect(await command(place, 'get', 'barista')).toBe('10.1.1.1:7');
		expect(await command(place, 'get', 'waiter')).toBe('10.9.9.9:99');
		expect(await command(place, 'status')).toContain('backend      mine up');
	});

	it('says what is wrong with a list, a module or an option, and starts nothing', async () => {
		await using place = await tempSocket();
		const part = write(
			place,
			'part.mjs',
			'export default () => ({ name: "part", watch() {}, list() {}, status() {} });',
		);
		const nameless = write(place, 'nameless.mjs', 'export default () => ({});');
		const bare = write(place, 'bare.mjs', 'export const backend = 1;');
		const bad = write(place, 'bad.mjs', 'export default (');
		const throwing = write(place, 'throwing.mjs', 'export default () => { throw new Error("set MY_URL"); };');
		const cases: [string[], string][] = [
			[
				['--backend', 'etcd'],
				'must be one of consul, local, dns, replay, spock, or the path of a module such as ./my-backend.js, not "etcd"',
			],
			[['--backend', 'consul,etcd'], '"etcd"'],
			[['--backend', 'consul,local,consul'], 'names consul twice'],
			[['--backend', 'consul,'], '--backend must be a list without empty items'],
			[['--backend', './no-such-file.js'], './no-such-file.js cannot be loaded'],
			[['--backend', bad], 'bad.mjs cannot be loaded'],
			[['--backend', bare], 'bare.mjs must have a default export that is a function'],
			[['--backend', throwing], 'throwing.mjs cannot be created: set MY_URL'],
			[['--backend', nameless], 'nameless.mjs must have a name'],
			[['--backend', part], 'part.mjs must have a function close'],
			[['--backend', 'dns', '--dns-name-template', 'barista.test'], 'it must contain {service}'],
			[['--backend', 'dns', '--dns-server', 'ns.test'], 'servers[0] must be an IP address'],
			[['--backend', 'dns', '--dns-protocol', 'tls'], '--dns-protocol'],
			[['--backend', 'local', '--state-dir', bad], `--state-dir ${bad} is not a directory`],
			[['--backend', 'local', '--listen', '0.0.0.0:1'], '0.0.0.0:1 can be reached from other machines'],
			[
				['--backend', 'local', '--services', write(place, 'torn.json', '{"services":\n{"a": [}}')],
				'torn.json:2:8: invalid JSON: ',
			],
			[
				['--backend', 'local', '--listen', 'tls://127.0.0.1:0', '--tls-cert', bad, '--tls-key', bad],
				`the TLS file is bad (${bad})`,
			],
		];
		const env = { SPOCK_BACKEND: 'local,local' };
		cases.push([[], 'SPOCK_BACKEND names local twice']);
		const runs = cases.map(async ([args, message]) => {
			await using run = runSidecar(['start', '--socket', place.path, ...args], { env });
			const { exitCode, stdout } = await run.finished;
			return { message, exitCode, reason: reasonIn(stdout) };
		});
		for (const { message, exitCode, reason } of await Promise.all(runs)) {
			expect(reason).toContain(message);
			expect([message, exitCode]).toEqual([message, 2]);
		}
	});

	it('ends, with nothing left behind, when something fails after it has begun to listen', async () => {
		await using place = await tempSocket();
		const code = `import { existsSync } from 'node:fs';
			const isUp = () => existsSync(${JSON.stringify(place.path)});
			const status = () => { if (isUp()) throw new Error('no status today'); return {}; };
			export default () => ({ name: 'moody', watch() {}, list: async () => [], status, close: async () => {} });`;
		await using run = runSidecar(['start', '--socket', place.path, '--backend', write(place, 'moody.mjs', code)]);
		const { exitCode, stdout } = await run.finished;
		expect([exitCode, reasonIn(stdout)]).toEqual([1, 'no status today']);
		expect(existsSync(place.path)).toBe(false);
	});

	it('ends, with nothing left behind, when the admin port is taken', async () => {
		const taken = createServer().listen(0, '127.0.0.1');
		await once(taken, 'listening');
		const admin = `127.0.0.1:${(taken.address() as AddressInfo).port}`;
		await using place = await tempSocket();
		await using run = runSidecar(['start', '--socket', place.path, '--backend', 'local', '--admin', admin]);
		const { exitCode, stdout } = await run.finished;
		expect([exitCode, reasonIn(stdout)]).toEqual([
			1,
			expect.stringContaining(`cannot serve the admin port at ${admin}: another process listens there`),
		]);
		expect(existsSync(place.path)).toBe(false);
		taken.close();
	});
});
