import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import {
	findConsul,
	type RunningProcess,
	sidecarBin,
	spawnProcess,
	type TempSocket,
	tempSocket,
	waitFor,
} from '@spock/testkit';
import {
	ConsulAgent,
	type ConsulNetwork,
	loopbackNetwork,
	type NamespaceNetwork,
	namespaceNetwork,
} from '@spock/testkit/consul-cluster';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const appFile = fileURLToPath(new URL('../registering-app.mjs', import.meta.url));
/** Consul and the sidecar are on one machine, and each app is on one of its own. */
const [HOME, GOES, STAYS] = [0, 1, 2] as const;
const TOKEN = 'of-the-apps-0123456789';
/** Keep-alive of the kernel would take some 20 s: this is noticed long before that. */
const HEARTBEAT_MS = 1000;
/** Three heartbeats are missed, and the look that finds it is up to one later. */
const SILENT_MS_MAX = 4 * HEARTBEAT_MS;
/** What a busy machine may add. */
const BUSY_MS_MAX = 4000;
/** Longer than any test: who is away for less is never deregistered. */
const LONG_GRACE_MS = 600_000;
const SHORT_GRACE_MS = 3000;

// Where no network can be made the app is stopped instead of cut off, and the names and the output say so.
const { cable, network, refusal } = await makeNetwork();
const how = refusal === undefined ? '' : ` [by SIGSTOP, not by a cut: ${refusal}]`;
const ports = { sidecar: 0 };

let place: TempSocket;
let consul: ConsulAgent;

beforeAll(async () => {
	if (refusal !== undefined) process.stdout.write(`LINK NOT CUT, the app is stopped instead: ${refusal}\n`);
	place = await tempSocket();
	await writeFile(join(place.directory, 'tokens'), `${TOKEN}\n`);
	const { http, server, serfLan } = network.ports;
	consul = new ConsulAgent({
		name: 'home',
		address: network.addresses[HOME] ?? '',
		httpPort: http,
		isServer: true,
		directory: place.directory,
		command: network.command(HOME, [findConsul(process.env)]),
		hcl: [
			'server = true bootstrap_expect = 1 disable_update_check = true log_level = "warn" connect { enabled = false } performance { raft_multiplier = 1 }',
			`ports { http = ${http} server = ${server} serf_lan = ${serfLan} serf_wan = -1 dns = -1 grpc = -1 grpc_tls = -1 }`,
		],
		token: '',
	});
	consul.start();
	const path = '/v1/catalog/nodes?consistent';
	await waitFor(
		'a Consul server with a leader',
		async () => (await consul.tryJson<unknown[]>({ path }))?.length,
		60_000,
	);
});

afterAll(async () => {
	await consul?.stop();
	await network[Symbol.asyncDispose]();
	await place?.[Symbol.asyncDispose]();
});

describe('an app on a machine that vanishes, without an end of its connection', () => {
	it(`is critical after the heartbeats that it misses, and comes back with its link; nobody else is touched${how}`, async () => {
		await using sidecar = await startSidecar(LONG_GRACE_MS);
		await using goes = await startApp(GOES, 'returns', 'goes');
		await using _stays = await startApp(STAYS, 'returns', 'stays');
		await waitFor('both', async () => same(await statuses('returns'), { goes: 'passing', stays: 'passing' }));

		const others: string[] = [];
		const statusOfGoes = async (): Promise<string | undefined> => {
			const now = await statuses('returns');
			others.push(now['stays'] ?? 'gone');
			return now['goes'];
		};
		const cutAtMs = performance.now();
		await cable.cut(goes);
		const critical = waitFor('critical', async () => (await statusOfGoes()) === 'critical');
		await critical.finally(() => cable.heal(goes));
		const criticalMs = performance.now() - cutAtMs;
		const healedAtMs = performance.now();
		await waitFor('passing again', async () => (await statusOfGoes()) === 'passing');
		const backMs = performance.now() - healedAtMs;
		process.stdout.write(`critical after ${criticalMs.toFixed()} ms, back after ${backMs.toFixed()} ms\n`);

		expect(criticalMs).toBeLessThan(SILENT_MS_MAX + BUSY_MS_MAX);
		expect(new Set(others)).toEqual(new Set(['passing']));
		// It was the silence that told, and neither the kernel nor the app.
		expect(sidecar.stdout()).toMatch(/"msg":"client stopped sending heartbeats"/);
		expect(sidecar.stdout()).toMatch(/"reason":"silent"/);
	});

	it(`is deregistered after the grace when it stays away${how}`, async () => {
		await using _sidecar = await startSidecar(SHORT_GRACE_MS);
		await using goes = await startApp(GOES, 'is-lost', 'goes');
		await using _stays = await startApp(STAYS, 'is-lost', 'stays');
		await waitFor('both', async () => same(await statuses('is-lost'), { goes: 'passing', stays: 'passing' }));
		const cutAtMs = performance.now();
		await cable.cut(goes);
		try {
			await waitFor('critical', async () => (await statuses('is-lost'))['goes'] === 'critical');
			await waitFor('the end of the registration', async () => (await statuses('is-lost'))['goes'] === undefined);
			const goneMs = performance.now() - cutAtMs;
			process.stdout.write(`deregistered after ${goneMs.toFixed()} ms\n`);
			expect(goneMs).toBeGreaterThanOrEqual(SHORT_GRACE_MS);
			expect(goneMs).toBeLessThan(SILENT_MS_MAX + SHORT_GRACE_MS + BUSY_MS_MAX);
			expect(await statuses('is-lost')).toEqual({ stays: 'passing' });
		} finally {
			await cable.heal(goes);
		}
	});
});

/** What Consul says of each instance, by its id without the service: each test has a service of its own. */
async function statuses(service: string): Promise<Record<string, string>> {
	const path = `/v1/health/checks/${service}?consistent`;
	const checks = await consul.json<readonly { readonly ServiceID: string; readonly Status: string }[]>({ path });
	return Object.fromEntries(checks.map(({ ServiceID, Status }) => [ServiceID.slice(service.length + 1), Status]));
}

function same(left: Record<string, string>, right: Record<string, string>): boolean {
	return JSON.stringify(Object.entries(left).sort()) === JSON.stringify(Object.entries(right).sort());
}

async function startSidecar(graceMs: number): Promise<RunningProcess> {
	const address = network.addresses[HOME];
	const sidecar = start(HOME, [
		...[sidecarBin, 'start', '--consul', consul.url, '--listen', `${address}:0`, '--listen-any'],
		...['--token-file', join(place.directory, 'tokens'), '--reconnect-grace-ms', String(graceMs), '--grace-ms', '0'],
		...['--owner', `grace-${graceMs}`, '--log-format', 'json', '--log-level', 'debug'],
	]);
	const port = await started('the sidecar', sidecar, new RegExp(`${address?.replaceAll('.', '\\.')}:(\\d{2,})`));
	ports.sidecar = Number(port);
	return sidecar;
}

async function startApp(machine: number, service: string, id: string): Promise<RunningProcess> {
	const registration = { service, id: `${service}-${id}`, host: `10.0.0.${machine}`, port: 8765 };
	const options = { host: network.addresses[HOME], port: ports.sidecar, token: TOKEN, heartbeatMs: HEARTBEAT_MS };
	const app = start(machine, [
		appFile,
		JSON.stringify(registration),
		JSON.stringify({ ...options, dialTimeoutMs: 1000 }),
	]);
	await started(`the app ${id}`, app, /(registered)\n/);
	return app;
}

function start(machine: number, args: readonly string[]): RunningProcess {
	const [program = '', ...all] = network.command(machine, [process.execPath, ...args]);
	return spawnProcess(program, all, { keepInput: true });
}

/** Waits until a process has printed this, and gives the part in brackets. */
async function started(what: string, running: RunningProcess, printed: RegExp): Promise<string> {
	const { child, stdout, stderr } = running;
	const found = await waitFor(
		what,
		() => printed.exec(stdout())?.[1] ?? (child.exitCode === null ? undefined : 'ended'),
	);
	if (found === 'ended') throw new Error(`${what} ended: ${stdout()}${stderr()}`);
	return found;
}

interface Cable {
	/** What an app sends, and what is sent to it, is lost without a word. */
	cut(app: RunningProcess): Promise<void>;
	heal(app: RunningProcess): Promise<void>;
}

async function makeNetwork(): Promise<{
	readonly cable: Cable;
	readonly network: ConsulNetwork;
	readonly refusal?: string;
}> {
	const size = 3;
	try {
		const network: NamespaceNetwork = await namespaceNetwork(size);
		return { network, cable: { cut: () => network.cut(GOES), heal: () => network.heal(GOES) } };
	} catch (error) {
		const signal = (name: NodeJS.Signals) => async (app: RunningProcess) => void app.child.kill(name);
		return {
			network: await loopbackNetwork(size),
			cable: { cut: signal('SIGSTOP'), heal: signal('SIGCONT') },
			refusal: (error as Error).message,
		};
	}
}
