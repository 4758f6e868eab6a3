import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

import type { StatusReply } from '@spock/protocol';
import {
	FakeSidecar,
	fakeSnapshot,
	type ProcessResult,
	runSidecar,
	startSidecar,
	type TempSocket,
	tempSocket,
	waitFor,
} from '@spock/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import type { StatusView } from '../src/admin/status-view.ts';
import { atTerminal } from './at-terminal.ts';

/** Sets the clipboard (OSC 52), clears the screen in the 8-bit form too, turns the text around, begins a line of its own. */
const EVIL = 'x\u001b]52;c;AAAA\u0007\u009b2J\u202ey\nadmin';
const SHOWN = 'x\\u001b]52;c;AAAA\\u0007\\u009b2J\\u202ey\\u000aadmin';
/** What no output may hold: all that steers but the end of a line. */
const STEERING = /[^\P{Cc}\n]|[\p{Cf}\p{Zl}\p{Zp}]/u;

/** What this program writes to colour its output. */
const COLOUR = /\u001b\[(?:3[123]|[12])m/;
const COLOURS = /\u001b\[(?:3[1239]|22?|1)m/g;

const instance = { ...fakeSnapshot(EVIL, 1, ['h:1']).instances[0], host: EVIL, instance: EVIL, tags: [EVIL] };
const watched = { service: EVIL, state: 'fresh', ageMs: 0, instances: 1, healthyInstances: 1, readers: 1, revision: 1 };
const entry = { key: EVIL, value: EVIL };
const REPLIES: Readonly<Record<string, unknown>> = {
	listServices: { services: [{ name: EVIL, tags: [EVIL] }], source: 'live', ageMs: 0, verifiedAt: 0 },
	getService: { host: EVIL, port: 1, instance: EVIL },
	watchService: { ...fakeSnapshot('evil', 1, []), instances: [instance] },
	getInstances: { ...fakeSnapshot('evil', 1, []), instances: [instance] },
	explain: {
		...{ service: EVIL, state: 'fresh', source: 'live', ageMs: 0, verifiedAt: 0, changedAt: null, revision: 1 },
		...{ error: EVIL, held: null, panic: false, frameBytes: 1, watcherCount: 1, instanceCount: 1 },
		watchers: [{ connection: 1, client: EVIL, pid: 1 }],
		instances: [
			{
				...{ ...instance, weight: 1, included: true, reason: EVIL, changedAt: null },
				checks: [{ id: EVIL, name: EVIL, status: 'passing' }],
			},
		],
	},
	status: {
		...{ sidecar: EVIL, instance: EVIL, pid: 1, uptimeMs: 1, phase: 'serving', ready: true, reasons: [EVIL] },
		backend: { name: EVIL, state: 'up', addresses: [EVIL], error: EVIL, lastSuccessAgeMs: 1 },
		...{ connections: 1, subscriptions: 1, oversizeSubscriptions: 0, counters: {} },
		watches: [{ ...watched, tags: [EVIL], datacenter: EVIL, error: EVIL }],
		keyWatches: [{ key: EVIL, state: 'fresh', ageMs: 0, entries: 1, readers: 1, revision: 1, error: EVIL }],
		registrations: [
			{
				...{ id: EVIL, service: EVIL, instance: EVIL, phase: 'held', state: 'registered', status: 'passing' },
				...{ note: EVIL, holders: 1, error: EVIL },
			},
		],
	},
	registerService: { id: EVIL, service: EVIL, instance: EVIL, state: 'registered', error: EVIL },
	deregisterService: null,
};

let place: TempSocket;
let evil: FakeSidecar;

beforeAll(async () => {
	place = await tempSocket();
	const fail = (message: string) => ({ error: { code: 'UNAVAILABLE', message, retryable: true, details: {} } });
	evil = await FakeSidecar.listen(place.path, {
		handle: ({ func, data }) => {
			const { key, prefix, service } = (data ?? {}) as { key?: string; prefix?: boolean; service?: string };
			if (service === 'fails' || key === 'fails') return fail(EVIL);
			if (func === 'getKey' || func === 'watchKey') {
				const facts = { revision: 1, source: 'live', ageMs: 0, verifiedAt: 0 };
				if (prefix) return { data: { key, prefix, entries: [entry], ...facts } };
				if (key === 'bytes') return { data: { key, value: '/w==', encoding: 'base64', ...facts } };
				return { data: { key, value: EVIL, ...facts } };
			}
			return Object.hasOwn(REPLIES, func) ? { data: REPLIES[func] } : undefined;
		},
	});
});

afterAll(async () => {
	await evil?.stop();
	await place?.[Symbol.asyncDispose]();
});

async function command(...args: string[]): Promise<ProcessResult> {
	await using process = runSidecar([...args, '--socket', place.path]);
	return await process.finished;
}

/** What a command prints on a terminal, without the CR that the terminal adds. */
async function onTerminal(...args: string[]): Promise<string> {
	await using run = atTerminal([...args, '--socket', place.path]);
	return (await run.finished).stdout.replaceAll('\r\n', '\n');
}

describe('what a registry calls things does not steer the terminal', () => {
	it.each([
		[['list']],
		[['explain', 'evil']],
		[['status']],
		[['doctor', 'evil']],
		[['health']],
		[['typegen']],
		[['kv', 'get', '--prefix', 'a']],
		[['get', 'fails']],
		[['kv', 'get', 'fails']],
		[['list', '--json']],
		[['status', '--json']],
		[['kv', 'get', 'a', '--json']],
		[['call', 'listServices']],
	])('of %j', async (args) => {
		const { stdout, stderr } = await command(...args);
		expect(stdout + stderr).not.toMatch(args[0] === 'typegen' ? /[^\P{Cc}\n\t]|\p{Cf}/u : STEERING);
		if (args.includes('call') || args.includes('--json')) {
			expect(stdout).toContain('\\u009b2J');
			expect(() => JSON.parse(stdout)).not.toThrow();
		} else if (!['typegen', 'doctor'].includes(args[0] as string) && !args.includes('--prefix')) {
			expect(stdout + stderr).toContain(SHOWN.slice(0, 30));
		}
	});

	it.each([[['list']], [['explain', 'evil']], [['status']], [['doctor', 'evil']]])(
		'of %j in colours: only its own colours do',
		async (args) => {
			const env = { FORCE_COLOR: '1' };
			await using run = runSidecar([...args, '--socket', place.path], { env });
			const { stdout, stderr } = await run.finished;
			expect(stdout).toMatch(COLOUR);
			expect(stdout.replaceAll(COLOURS, '') + stderr).not.toMatch(STEERING);
			if (args[0] !== 'doctor') expect(stdout).toContain(SHOWN.slice(0, 30));
		},
	);

	it.each([[['list']], [['explain', 'evil']], [['status']], [['doctor']]])(
		'%j is coloured on a terminal, unless NO_COLOR says otherwise, and plain in a pipe',
		async (args) => {
			expect((await command(...args)).stdout).not.toMatch(COLOUR);
			expect(await onTerminal(...args)).toMatch(COLOUR);
			await using run = atTerminal([...args, '--socket', place.path], { NO_COLOR: '1' });
			expect((await run.finished).stdout).not.toMatch(COLOUR);
		},
	);

	it.each([[['kv', 'watch', 'a']], [['kv', 'watch', '--prefix', 'a']], [['register', 'evil', '--port', '1']]])(
		'of %j',
		async (args) => {
			await using run = runSidecar([...args, '--socket', place.path]);
			await waitFor('a line', () => run.stdout().includes('\n'));
			const { stdout, stderr } = await run.stop();
			expect(stdout + stderr).not.toMatch(STEERING);
			expect(stdout).toContain('\\u009b2J');
		},
	);

	it('of a host that is none: it is refused, and not connected to', async () => {
		for (const name of ['get', 'watch']) {
			const { exitCode, stdout, stderr } = await command(name, 'evil');
			expect([exitCode, stdout, stderr]).toEqual([
				1,
				'',
				expect.stringMatching(/^sidecar: PROTOCOL: .*an invalid .*host/),
			]);
		}
	});

	it('of top', async () => {
		const { sidecar, pid, phase, ready, reasons, backend } = REPLIES['status'] as StatusReply;
		const facts = { at: 0, sidecar, instance: EVIL, pid, startedAt: 0, phase, ready, reasons, backend };
		const counts = {
			services: 1,
			connections: 1,
			subscriptions: 1,
			keys: 0,
			host: EVIL,
			registrations: 0,
			hasEvents: true,
			recordsPerSecond: null,
			inFlight: 0,
			rates: null,
		};
		const failure = { registries: [{ name: EVIL, since: 0 }], errors: [EVIL], effect: EVIL };
		const view: StatusView = {
			overview: { ...facts, ...counts, failure, latency: { boundsMs: [], total: [], recent: [], recentMs: 0 } },
			services: [
				{
					...{ service: EVIL, key: EVIL, state: 'fresh', instances: 1, healthy: 1, readers: 1, revision: 1 },
					...{ label: EVIL, changedAt: null, staleSince: null, error: EVIL, problem: 'failing' },
					found: { addresses: [], tags: [], zones: [], statuses: [] },
				},
			],
			connections: {
				...{ count: 1, problems: 0, grpc: 0 },
				rows: [
					{
						...{ id: 1, client: EVIL, library: EVIL, pid: 1, openedAt: 0, inFlight: 0, outputBytes: 0, requests: 1 },
						...{ transport: 'tls', address: EVIL, certificate: EVIL, registered: [], registeredCount: 0, problems: [] },
						...{ subscriptions: 1, services: 1, keys: 0, subscriptionsRevision: 0, rates: null },
					},
				],
			},
			events: null,
			registrations: [],
			keys: [],
			changes: [],
		};
		const server = createServer((_request, response) => response.end(JSON.stringify(view))).listen(0, '127.0.0.1');
		await once(server, 'listening');
		await using run = runSidecar(['top', '--admin', `127.0.0.1:${(server.address() as AddressInfo).port}`]);
		const { exitCode, stdout } = await run.finished;
		server.close();
		expect([exitCode, stdout]).toEqual([0, expect.not.stringMatching(STEERING)]);
		expect(stdout).toContain(SHOWN.slice(0, 30));
	});

	it('a value goes into a pipe byte for byte, and onto a terminal with its lines', async () => {
		expect((await command('kv', 'get', 'a')).stdout).toBe(EVIL);
		expect(await onTerminal('kv', 'get', 'a')).toBe(`${SHOWN.replace('\\u000a', '\n')}\n`);
		expect(await onTerminal('kv', 'get', 'bytes')).toBe('(base64) /w==\n');
	});

	it('neither does the log of a sidecar for people', async () => {
		const services = join(place.directory, 'services.json');
		writeFileSync(services, '{"services":{}}');
		const flags = ['--services', services, '--log-format', 'pretty'];
		await using sidecar = await startSidecar(join(place.directory, 'log.sock'), flags);
		// The 8-bit form of escape and bracket is no control character to JSON.
		writeFileSync(services, '{"services":{},"\u009b2J":1}');
		await waitFor('the complaint', () => sidecar.stdout().includes('services file is invalid'));
		expect(sidecar.stdout()).not.toMatch(STEERING);
	});
});
