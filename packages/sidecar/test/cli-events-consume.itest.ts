import { chmod, mkdir } from 'node:fs/promises';
import { join } from 'node:path';

import { connect, type Diplomat } from '@spock/client';
import { openEvents } from '@spock/client/events';
import {
	type ProcessResult,
	type RunningProcess,
	runSidecar,
	startSidecar,
	type TempSocket,
	tempSocket,
	waitFor,
} from '@spock/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

let place: TempSocket;
let sidecar: RunningProcess;
let diplomat: Diplomat;

function begin(...args: string[]): RunningProcess {
	return runSidecar(['events', ...args], { env: { SPOCK_SOCKET: place.path } });
}

async function events(...args: string[]): Promise<ProcessResult> {
	await using process = begin(...args);
	return await process.finished;
}

async function publish(stream: string, ...payloads: unknown[]): Promise<void> {
	for (const payload of payloads) await diplomat.request('publish', { stream, payload });
}

/** Every event of a stream that the group has not done is given up. */
async function bury(stream: string, count: number, group = 'billing'): Promise<void> {
	const consuming = openEvents({ diplomat });
	let left = count;
	for await (const event of consuming.consume(stream, { group, from: 'first' })) {
		event.term('no such customer');
		if (--left === 0) break;
	}
	await consuming.drain();
}

interface StoredEvent {
	readonly data: unknown;
	readonly id: string;
	readonly headers: Readonly<Record<string, string>>;
}

async function stored(stream: string): Promise<StoredEvent[]> {
	const { stdout } = await events('status', '--json');
	const { streams } = JSON.parse(stdout) as { streams: { stream: string; events: number }[] };
	const count = streams.find((one) => one.stream === stream)?.events ?? 0;
	if (count === 0) return [];
	const tail = await events('tail', stream, '--from', 'first', '--count', `${count}`, '--json');
	return tail.stdout
		.trimEnd()
		.split('\n')
		.map((line) => JSON.parse(line));
}

beforeAll(async () => {
	place = await tempSocket();
	sidecar = await startSidecar(place.path, ['--backend', 'local', '--events', join(place.directory, 'log')]);
	diplomat = await connect({ path: place.path });
});

afterAll(async () => {
	await diplomat?.close();
	await sidecar?.[Symbol.asyncDispose]();
	await place?.[Symbol.asyncDispose]();
});

describe('sidecar events tail', () => {
	it('prints what comes, and ends after so many events; a stream without any is waited for, with a hint', async () => {
		await publish('clicks', 1);
		await using tail = begin('tail', 'click', '--count', '2');
		await waitFor('the hint', () => tail.stderr() !== '');
		expect(tail.stderr()).toBe('stream click has no events; did you mean clicks?\n');
		// It may not read yet: until it has printed one, another is published.
		await waitFor('an event', async () => {
			await publish('click', { page: 'one' }, 'two');
			return tail.stdout() !== '';
		});
		const { exitCode, stdout } = await tail.finished;
		expect(exitCode).toBe(0);
		expect(stdout).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z {2}#\d+ {2}(\{"page":"one"\}|"two")\n.*\n$/);
	});

	it('begins where it is told, and shows one key', async () => {
		await diplomat.request('publish', { stream: 'keyed', key: 'a', payload: 1 });
		await diplomat.request('publish', { stream: 'keyed', key: 'b', payload: 2 });
		const tail = await events('tail', 'keyed', '--from', 'first', '--key', 'b', '--count', '1');
		expect(tail).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/ b {2}2\n$/), stderr: '' });
	});
});

describe('sidecar events publish', () => {
	it('sends a number with the digits that it was given, or refuses it; and hints at a misspelt stream', async () => {
		const long = '{"total":123456789012345678901}';
		const sent = await events('publish', 'numbers', long);
		if ('rawJSON' in JSON) expect(sent.exitCode).toBe(0);
		else expect(sent).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('has more digits than this Node') });
		await publish('numbers', 1);
		const hinted = await events('publish', 'number', '1');
		expect(hinted).toMatchObject({ exitCode: 0, stderr: 'number is a new stream; did you mean numbers?\n' });
	});
});

describe('sidecar events dead', () => {
	it('prints what was given up and why, and makes no group', async () => {
		await publish('orders', { total: 1 }, { total: 2 });
		expect((await events('dead', 'orders')).stderr).toBe('no dead event of orders\n');
		await bury('orders', 2);
		const dead = await events('dead', 'orders');
		expect(dead).toMatchObject({ exitCode: 0, stderr: '2 dead events; `--retry` publishes them again\n' });
		expect(dead.stdout).toMatch(
			/\{"total":1\} {2}group billing: no such customer\n.*\{"total":2\} {2}group billing: no such customer\n$/,
		);
		expect(await events('groups', 'orders.dead')).toMatchObject({
			stdout: '',
			stderr: 'no group has consumed it yet\n',
		});
	});

	it('--retry publishes each again and once, also where a crash made it forget that it did', async () => {
		const retried = await events('dead', 'orders', '--retry');
		expect(retried).toMatchObject({ exitCode: 0, stderr: '2 dead events; published again\n' });
		expect((await stored('orders')).map(({ data }) => data)).toEqual([1, 2, 1, 2].map((total) => ({ total })));
		expect((await events('dead', 'orders')).stderr).toBe('no dead event of orders\n');
		await events('rewind', 'orders.dead', 'sidecar-events-dead', '--to', 'first');
		expect(await events('dead', 'orders', '--retry')).toMatchObject({
			exitCode: 0,
			stdout: expect.stringMatching(/\{/),
		});
		expect(await stored('orders')).toHaveLength(4);
	});

	it('--retry publishes each of two with one id; the id by which consumers know it is in a header', async () => {
		await publish('ids', 1);
		await diplomat.request('publish', { stream: 'ids', payload: 2, id: 'known' });
		await bury('ids', 2);
		await bury('ids', 2, 'shipping');
		await events('dead', 'ids', '--retry');
		const [one, two, ...again] = await stored('ids');
		expect(again.map(({ data }) => data)).toEqual([1, 2, 1, 2]);
		expect(new Set(again.map(({ id }) => id)).size).toBe(4);
		const known = again.map(({ headers }) => headers['spock-retried-id']);
		expect(known).toEqual([one?.id, two?.id, one?.id, two?.id]);
	});

	it('are printed also where there are more streams than a status lists', async () => {
		await using other = await tempSocket();
		await using _ = await startSidecar(other.path, ['--backend', 'local', '--events', join(other.directory, 'log')]);
		await using client = await connect({ path: other.path });
		const names = Array.from({ length: 260 }, (_, index) => `a-${index}`);
		await Promise.all([...names, 'z', 'z.dead'].map((stream) => client.request('publish', { stream, payload: 1 })));
		const dead = await events('dead', 'z', '--socket', other.path, '--timeout', '2s');
		expect(dead).toMatchObject({ exitCode: 0, stderr: '1 dead event; `--retry` publishes them again\n' });
	});

	it('ends with the last one, however far apart they are: how many there are is an estimate', async () => {
		await publish('rare', 1, 2);
		await bury('rare', 1);
		await events('dead', 'rare', '--retry');
		await publish('other', ...Array.from({ length: 90 }, (_, index) => index));
		await bury('rare', 1);
		// An end by its patience would take this time limit, which is longer than the test may take.
		const dead = await events('dead', 'rare', '--retry', '--timeout', '10m');
		expect(dead).toMatchObject({ exitCode: 0, stderr: '1 dead event; published again\n' });
	});
});

describe('sidecar events groups', () => {
	it('says of a group whose stream was misspelt that there are no events, and what was meant', async () => {
		await publish('payments', 1);
		const consuming = openEvents({ diplomat }).consume('paymnets', { group: 'ledger' });
		const next = consuming.next();
		await waitFor('the group', async () => (await events('groups', 'paymnets')).stdout !== '');
		expect((await events('groups', 'paymnets')).stdout).toMatch(
			/^paymnets ledger .*; no events in this stream: did you mean payments\?\n$/,
		);
		await consuming.return?.();
		await next;
	});
});

describe('sidecar events delete-group', () => {
	it('forgets a group; one with consumers, and one that is unknown, is refused', async () => {
		const [none] = (await events('groups', 'orders')).stdout.split('\n');
		expect(none).toContain('orders billing');
		const consuming = openEvents({ diplomat }).consume('orders', { group: 'billing' });
		const next = consuming.next();
		await waitFor('the consumer', async () => (await events('groups', 'orders')).stdout.includes('1 consumer'));
		const used = await events('delete-group', 'orders', 'billing');
		expect(used).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('has 1 consumer; end it first') });
		await next;
		await consuming.return?.();
		await waitFor('its end', async () => (await events('groups', 'orders')).stdout.includes('0 consumers'));
		const misspelt = await events('delete-group', 'orders', 'biling');
		const hint = 'sidecar: no such group of stream orders: biling; did you mean billing?\n';
		expect(misspelt).toMatchObject({ exitCode: 1, stderr: hint });
		const deleted = await events('delete-group', 'orders', 'billing');
		expect(deleted).toMatchObject({ exitCode: 0, stdout: 'deleted group billing of stream orders\n' });
		expect((await events('groups', 'orders')).stdout).toBe('');
	});
});

it('where the log cannot be opened each says why, and not that it knows no such stream', async () => {
	await using other = await tempSocket();
	const directory = join(other.directory, 'log');
	await mkdir(directory);
	await chmod(directory, 0o777);
	await using blocked = await startSidecar(other.path, ['--backend', 'local', '--events', directory]);
	await waitFor('the failure', () => blocked.stdout().includes('event log cannot be opened'));
	const at = ['--socket', other.path];
	const all = await Promise.all([
		events('groups', 'orders', ...at),
		events('publish', 'orders', '1', ...at),
		events('dead', 'orders', ...at),
		events('rewind', 'orders', 'billing', '--to', 'new', ...at),
		events('delete-group', 'orders', 'billing', ...at),
	]);
	// It may be in the middle of its next attempt.
	const why = expect.stringMatching(/can be written by others|is being opened; try again/);
	for (const { exitCode, stderr } of all) expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: why });
});
