import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { ServiceSource } from '@spock/protocol';
import { systemClock } from '@spock/protocol/internal';
import { FakeClock, waitFor } from '@spock/testkit';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { LimitedLog } from '../log/limited-log.ts';
import { typedCommand } from '../output/command-name.ts';
import { resolveSettings } from '../settings/resolve-settings.ts';
import { type EventsReporting, eventsOf } from './events.ts';

/** No service is asked for. */
const NO_SOURCE = {} as ServiceSource;
const settingsOf = (env: Readonly<Record<string, string>>) => resolveSettings({ flags: {}, env });

function reporting(lines: string[] = []): EventsReporting {
	const log = pino({ base: null }, { write: (line: string) => void lines.push(line) });
	return { log, limited: new LimitedLog(log, new FakeClock()), observers: [], socket: undefined };
}

describe('the settings of events', () => {
	let directory: string;

	beforeEach(() => {
		directory = mkdtempSync(join(tmpdir(), 'events-'));
	});

	afterEach(() => rmSync(directory, { recursive: true }));

	/** A guest made of these settings. */
	async function create(env: Readonly<Record<string, string>>) {
		const options = await eventsOf(settingsOf({ SPOCK_EVENTS: directory, ...env }), reporting());
		return options?.create({ clock: new FakeClock(), random: () => 0.5, source: NO_SOURCE, defer: setImmediate });
	}

	it('are off without a directory', async () => {
		expect(await eventsOf(settingsOf({}), reporting())).toBeUndefined();
	});

	it.each([
		['SPOCK_EVENTS_BYTES_MAX', '9000000'],
		['SPOCK_EVENTS_FREE_BYTES_MIN', '0'],
		['SPOCK_EVENTS_RETENTION_MS', '1000'],
		['SPOCK_EVENTS_RETENTION_BYTES', '1000'],
		['SPOCK_EVENTS_STREAMS', 'orders'],
		['SPOCK_EVENTS_DRAIN_MS', '1000'],
	])('%s means nothing without a directory, which is said', async (name, value) => {
		const refused = eventsOf(settingsOf({ [name]: value }), reporting());
		await expect(refused).rejects.toThrow(`${name} needs --events DIRECTORY`);
	});

	it('that the log refuses are named as they were given', async () => {
		await expect(create({ SPOCK_EVENTS_BYTES_MAX: '9' })).rejects.toThrow(
			'SPOCK_EVENTS_BYTES_MAX must be at least 8388608, which is 8 MiB, not 9',
		);
	});

	it.each([
		[
			{ SPOCK_EVENTS_STREAMS: 'orders,a b' },
			'SPOCK_EVENTS_STREAMS must be 1 to 128 letters, digits, "_", "." or "-", not "a b"',
		],
		[
			{ SPOCK_EVENTS_RETENTION_BYTES: '9999999999' },
			'SPOCK_EVENTS_RETENTION_BYTES must be at most 268435456, the size that the log may have, not 9999999999',
		],
		[
			{ SPOCK_EVENTS_RETENTION_BYTES: '9000000', SPOCK_EVENTS_BYTES_MAX: '8388608' },
			'SPOCK_EVENTS_RETENTION_BYTES must be at most 8388608, the size that the log may have, not 9000000',
		],
		[{ SPOCK_EVENTS_RETENTION_MS: '1000h' }, /^SPOCK_EVENTS_RETENTION_MS must be a duration .*at most 2147483647 ms/],
	])('%j is refused with what is allowed', async (env, message) => {
		await expect(create(env)).rejects.toThrow(message);
	});

	it('make a guest that knows its directory before it is open', async () => {
		expect((await create({}))?.status()).toMatchObject({ state: 'opening', directory });
	});
});

describe('where events go', () => {
	const PATH = '/uds/s.sock';
	let directory: string;
	let lines: string[];

	beforeEach(() => {
		directory = mkdtempSync(join(tmpdir(), 'events-'));
		lines = [];
	});

	afterEach(() => rmSync(directory, { recursive: true }));

	/** What is said once the log is opened, or is not. */
	async function said(socket: string | undefined, env: Readonly<Record<string, string>> = {}): Promise<unknown[]> {
		const options = await eventsOf(settingsOf({ SPOCK_EVENTS: directory, ...env }), { ...reporting(lines), socket });
		const guest = options?.create({ clock: systemClock, random: () => 0.5, source: NO_SOURCE, defer: setImmediate });
		guest?.open(false);
		await waitFor('the log', () => guest?.status().state !== 'opening');
		await guest?.close();
		return lines.map((line) => JSON.parse(line) as unknown);
	}

	it('is said once the log is open, with a command for a shell', async () => {
		const command = `${typedCommand()} events publish orders 42`;
		expect(await said(PATH)).toMatchObject([{ directory, command, msg: 'taking events' }]);
		// To a stream that may be written to.
		const limited = await said(PATH, { SPOCK_EVENTS_STREAMS: 'audit,bills', SPOCK_SOCKET: PATH });
		expect(limited.slice(1)).toMatchObject([{ command: `${typedCommand()} events publish audit 42 --socket ${PATH}` }]);
	});

	it('is said without one where there is no socket, or a token is wanted there', async () => {
		const plain = expect.not.objectContaining({ command: expect.anything() });
		expect(await said(undefined)).toEqual([plain]);
		expect(await said(PATH, { SPOCK_TOKEN_ON_SOCKET: 'true' })).toEqual([plain, plain]);
	});

	it('is not said where the directory is refused', async () => {
		chmodSync(directory, 0o777);
		expect(await said(PATH)).toMatchObject([{ msg: 'event log cannot be opened; retrying' }]);
	});
});
