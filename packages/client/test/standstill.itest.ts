import { fileURLToPath } from 'node:url';

import { connect, type Diplomat, type DiplomatOptions, type ServiceAddress } from '@spock/client';
import {
	type FakeConsul,
	type RunningProcess,
	spawnProcess,
	startFakeConsul,
	startSidecar,
	tempSocket,
	waitFor,
} from '@spock/testkit';
import { expect, it } from 'vitest';

const query = { service: 'barista' };
/** Longer than a process may stand still unnoticed, and shorter than its peers wait for it. */
const PAUSE_MS = 3500;

/** When the registry had the address of this port, by which answers differ. */
async function put(consul: FakeConsul, port: number): Promise<number> {
	consul.set('barista', [{ id: 'a', port }]);
	return Date.now();
}

/** A sidecar of a Consul that knows one address, and a client that has it. */
async function openSite(options: DiplomatOptions = {}) {
	const place = await tempSocket();
	const consul = await startFakeConsul();
	await put(consul, 1);
	const sidecar = await startSidecar(place.path, ['--backend', 'consul', '--consul', consul.url]);
	const diplomat = await connect({ ...options, path: place.path });
	await diplomat.getService(query);
	return {
		...{ place, consul, sidecar, diplomat },
		[Symbol.asyncDispose]: async () => {
			for (const one of [diplomat, sidecar, consul, place]) await one[Symbol.asyncDispose]();
		},
	};
}

/** Stops a process, does something, and lets it go on after a while. */
async function paused({ pid }: RunningProcess, meanwhile: (stoppedAt: number) => Promise<void>): Promise<void> {
	process.kill(pid, 'SIGSTOP');
	const stoppedAt = Date.now();
	try {
		await meanwhile(stoppedAt);
		await waitFor('the pause', () => Date.now() - stoppedAt >= PAUSE_MS);
	} finally {
		process.kill(pid, 'SIGCONT');
	}
}

/** Looks up until an answer is as wanted; `check` judges every answer. */
async function answers(
	diplomat: Diplomat,
	isLast: (answer: ServiceAddress) => boolean,
	check: (answer: ServiceAddress, at: number) => void,
): Promise<void> {
	await waitFor('the answer', async () => {
		const answer = await diplomat.getService('barista');
		check(answer, Date.now());
		return isLast(answer);
	});
}

it('a sidecar that hangs and is killed was live until its last byte', async () => {
	await using site = await openSite();
	const { sidecar, diplomat } = site;
	process.kill(sidecar.pid, 'SIGSTOP');
	const stoppedAt = Date.now();
	await waitFor('the pause', () => Date.now() - stoppedAt >= PAUSE_MS);
	process.kill(sidecar.pid, 'SIGKILL');
	await answers(
		diplomat,
		({ stale }) => stale === true,
		({ stale, ageMs = 0 }, at) => {
			if (stale === true) expect(ageMs).toBeGreaterThanOrEqual(at - stoppedAt - 1);
		},
	);
}, 60_000);

it('a sidecar that is found silent was live until its last byte, and not until a look at it', async () => {
	await using site = await openSite({ heartbeatMs: 1500 });
	const { diplomat } = site;
	const { pid } = site.sidecar;
	process.kill(pid, 'SIGSTOP');
	const stoppedAt = Date.now();
	try {
		await waitFor('the loss', () => diplomat.status().state !== 'ready');
		const { stale, ageMs = 0 } = await diplomat.getService(query);
		expect(stale).toBe(true);
		expect(ageMs).toBeGreaterThanOrEqual(Date.now() - stoppedAt - 20);
	} finally {
		process.kill(pid, 'SIGCONT');
	}
}, 60_000);

it('what a paused sidecar is answered by Consul is as old as the pause, and no answer to maxAgeMs, when Consul is gone', async () => {
	await using site = await openSite();
	const { consul, sidecar, diplomat } = site;
	await waitFor('the query that is held', () => consul.blocked === 1);
	let outdatedAt = 0;
	await paused(sidecar, async () => {
		await put(consul, 2);
		outdatedAt = await put(consul, 3);
		await consul.stop();
	});
	let count = 0;
	await answers(
		diplomat,
		({ stale }) => stale === true && ++count > 20,
		({ port, stale, ageMs = 0, verifiedAt = 0 }, at) => {
			// What was known before the pause is live until the loss is noticed; what waited may be lost with its connection.
			if (port === 1 && stale !== true) return;
			expect(stale).toBe(true);
			expect(ageMs).toBeGreaterThanOrEqual(at - outdatedAt - 20);
			expect(verifiedAt).toBeLessThanOrEqual(outdatedAt + 20);
		},
	);
	await expect(diplomat.getService(query, { maxAgeMs: 2000 })).rejects.toMatchObject({ code: 'UNAVAILABLE' });
}, 60_000);

it('what is pushed to a paused pod as last known is as old as that and the pause, for the app too', async () => {
	await using node = await openSite();
	await using place = await tempSocket();
	await using pod = await startSidecar(place.path, ['--upstream', `unix:${node.place.path}`]);
	await using diplomat = await connect({ path: place.path });
	await diplomat.getService(query);
	let outdatedAt = 0;
	await paused(pod, async () => {
		await node.consul.stop();
		outdatedAt = Date.now();
		await waitFor('the loss at the node', async () => (await node.diplomat.getService(query)).stale === true);
	});
	let count = 0;
	await answers(
		diplomat,
		({ stale }) => stale === true && ++count > 20,
		({ stale, ageMs = 0 }, at) => {
			if (stale === true) expect(ageMs).toBeGreaterThanOrEqual(at - outdatedAt - 20);
		},
	);
}, 60_000);

it('what is pushed to a paused app as last known is as old as that and the pause', async () => {
	await using site = await openSite();
	const { place, consul, diplomat: beside } = site;
	const program = fileURLToPath(new URL('asking-app.mjs', import.meta.url));
	const args = [program, JSON.stringify({ path: place.path })];
	await using app = spawnProcess(process.execPath, args, { keepInput: true });
	const printed = (): string[] => app.stdout().split('\n').slice(1, -1);
	const ask = async (): Promise<ServiceAddress & { readonly at: number }> => {
		const before = printed().length;
		app.child.stdin?.write('barista\n');
		await waitFor('its answer', () => printed().length > before);
		return JSON.parse(printed()[before] ?? '{}');
	};
	expect(await ask()).toMatchObject({ port: 1 });
	let outdatedAt = 0;
	await paused(app, async () => {
		await consul.stop();
		outdatedAt = Date.now();
		await waitFor('the loss', async () => (await beside.getService(query)).stale === true);
	});
	await waitFor('an answer that is last known', async () => (await ask()).stale === true);
	for (let count = 0; count < 20; count++) {
		const { stale, ageMs = 0, at } = await ask();
		expect(stale).toBe(true);
		expect(ageMs).toBeGreaterThanOrEqual(at - outdatedAt - 20);
	}
}, 60_000);
