import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { connect, type Diplomat } from '@spock/client';
import type { ExplainReply } from '@spock/protocol';
import {
	findConsul,
	freePort,
	makeAuthority,
	type RealConsul,
	type RunningProcess,
	runSidecar,
	startConsul,
	startSidecar,
	tempSocket,
	waitFor,
} from '@spock/testkit';
import { describe, expect, it } from 'vitest';

const binary = findConsul(process.env);
const HOSTILE_ENOUGH = 'a-token-that-is-long-enough';

const register = (consul: RealConsul, service: string): Promise<void> =>
	consul.put('/v1/agent/service/register', { ID: `${service}-1`, Name: service, Address: '10.0.0.1', Port: 80 });

/** A real Consul, and what is needed for a shared sidecar that listens with TLS and a token, and for those that ask it. */
async function cluster() {
	const consul = await startConsul({ binary, mode: 'server' });
	const place = await tempSocket();
	const authority = makeAuthority();
	const { cert, key } = authority.issue();
	const file = (name: string): string => join(place.directory, name);
	const files = { 'ca.pem': authority.ca, 'cert.pem': cert, 'key.pem': key, token: HOSTILE_ENOUGH };
	await Promise.all(Object.entries(files).map(([name, text]) => writeFile(file(name), text, { mode: 0o600 })));
	const ports = [await freePort(), await freePort()];
	const startShared = (number: 0 | 1): Promise<RunningProcess> => {
		const listen = ['--listen', `tls://127.0.0.1:${ports[number]}`, '--token-file', file('token')];
		const tls = ['--tls-cert', file('cert.pem'), '--tls-key', file('key.pem')];
		return startSidecar(file(`shared-${number}.sock`), [...listen, ...tls, '--consul', consul.url]);
	};
	const upstream = ports.map((port) => `tls://127.0.0.1:${port}`);
	const startPod = (path: string, ...more: string[]): Promise<RunningProcess> => {
		const tls = ['--upstream-ca', file('ca.pem'), '--upstream-token-file', file('token')];
		return startSidecar(path, ['--upstream', upstream.join(), ...tls, '--log-format', 'json', ...more]);
	};
	return {
		...{ consul, upstream, file, startShared, startPod },
		[Symbol.asyncDispose]: async () => {
			await consul[Symbol.asyncDispose]();
			await place[Symbol.asyncDispose]();
		},
	};
}

/** Looks up until this is stopped; gives the codes of those that failed. */
function lookUpAllTheTime(diplomat: Diplomat): () => readonly string[] {
	const failed: string[] = [];
	const timer = setInterval(() => {
		diplomat
			.getService('barista')
			.catch((error: Error & { code?: string }) => failed.push(error.code ?? String(error)));
	}, 5);
	return () => {
		clearInterval(timer);
		return failed;
	};
}

describe('sidecars that ask a shared one, over TLS and with a token, as processes', () => {
	it('no known lookup fails while shared sidecars are killed one after the other, and changes come by the one that is left', async () => {
		await using all = await cluster();
		await using place = await tempSocket();
		await register(all.consul, 'barista');
		await using first = await all.startShared(0);
		await using second = await all.startShared(1);
		await using _pod = await all.startPod(place.path);
		await using diplomat = await connect({ path: place.path });
		expect(await diplomat.getService('barista')).toMatchObject({ host: '10.0.0.1', port: 80 });
		const failed = lookUpAllTheTime(diplomat);
		const path = async (): Promise<string | undefined> =>
			((await diplomat.explain('barista')) as ExplainReply).upstreams?.map(({ address }) => address).join();
		expect(await path()).toBe(all.upstream[0]);
		await first.stop('SIGKILL');
		await waitFor('the second one', async () => (await path()) === all.upstream[1]);
		await all.consul.put('/v1/agent/service/register', { ID: 'b2', Name: 'barista', Address: '10.0.0.2', Port: 80 });
		await waitFor('the change', async () => (await diplomat.getInstances('barista')).instances.length === 2);
		await second.stop('SIGKILL');
		await waitFor('that it is stale', async () => (await diplomat.getService('barista')).stale === true);
		await using _again = await all.startShared(0);
		await waitFor('that it is live', async () => (await diplomat.getService('barista')).stale === undefined);
		expect(failed()).toEqual([]);
	});

	it('Consul, the shared sidecar and the pod’s own may all be gone: what was looked up once is still there, and older at each look', async () => {
		await using all = await cluster();
		await using place = await tempSocket();
		await register(all.consul, 'barista');
		await using shared = await all.startShared(0);
		await using pod = await all.startPod(place.path);
		await using diplomat = await connect({ path: place.path });
		await diplomat.getService('barista');
		await all.consul.kill();
		const ages: number[] = [];
		const isOlder = async (): Promise<boolean> => {
			const { stale, ageMs = 0 } = await diplomat.getService('barista');
			if (stale) ages.push(ageMs);
			return stale === true;
		};
		await waitFor('the age', isOlder);
		await shared.stop('SIGKILL');
		for (let look = 0; look < 20; look++) await isOlder();
		await pod.stop('SIGKILL');
		for (let look = 0; look < 20; look++) await isOlder();
		expect(ages.length).toBe(41);
		expect(ages).toEqual([...ages].sort((left, right) => left - right));
	});

	it('Consul stands in for what was never asked, and for that alone', async () => {
		await using all = await cluster();
		await using place = await tempSocket();
		await Promise.all(['barista', 'employer'].map((service) => register(all.consul, service)));
		await using shared = await all.startShared(0);
		await using _pod = await all.startPod(place.path, '--backend', 'spock,consul', '--consul', all.consul.url);
		await using diplomat = await connect({ path: place.path });
		await diplomat.getService('barista');
		await shared.stop('SIGKILL');
		await waitFor('that barista is stale', async () => (await diplomat.getService('barista')).stale === true);
		await waitFor('employer', () =>
			diplomat.getService('employer', { timeoutMs: 20_000 }).then(
				() => true,
				() => false,
			),
		);
		expect(await diplomat.getService('barista')).toMatchObject({ stale: true });
	});

	it('what is wrong with the settings is said at the start, and what is wrong with the other sidecar in its log', async () => {
		await using all = await cluster();
		await using place = await tempSocket();
		const wrong = async (...args: string[]): Promise<string> => {
			await using run = runSidecar(['start', '--socket', place.path, '--log-format', 'json', ...args]);
			const { exitCode, stdout, stderr } = await run.finished;
			expect(exitCode).toBe(2);
			return stdout + stderr;
		};
		expect(await wrong('--backend', 'spock')).toContain('the backend spock needs --upstream tls://HOST:PORT');
		expect(await wrong('--backend', 'local', '--upstream', 'h:1')).toContain('--upstream needs the backend spock');
		expect(await wrong('--backend', 'spock,dns', '--upstream', 'h:1')).toContain('spock alone, or spock,consul');
		expect(await wrong('--upstream', 'nowhere')).toContain('must be tls://HOST:PORT, HOST:PORT or unix:PATH');
		expect(await wrong('--upstream', 'h:1', '--upstream-ca', all.file('ca.pem'))).toContain('needs tls://HOST:PORT');
		expect(await wrong('--upstream', 'tls://h:1', '--upstream-ca', all.file('none'))).toContain(all.file('none'));
		expect(await wrong('--upstream', 'tls://h:1', '--upstream-cert', 'c.pem')).toContain('needs --upstream-key');
		await writeFile(all.file('other'), 'another-token-that-is-long-enough');
		await using _shared = await all.startShared(0);
		await using pod = await all.startPod(place.path, '--upstream-token-file', all.file('other'));
		await waitFor('the reason', () => pod.stdout().includes('does not accept the token in hello'));
	});
});
