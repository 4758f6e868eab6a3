import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { FakeClock } from '@spock/testkit';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { LimitedLog } from '../log/limited-log.ts';
import { resolveSettings } from '../settings/resolve-settings.ts';
import { announceEvents, type EventsReporting, eventsOf, publishCommand } from './events.ts';

const settingsOf = (env: Readonly<Record<string, string>>) => resolveSettings({ flags: {}, env });

function reporting(lines: string[] = []): EventsReporting {
	const log = pino({ base: null }, { write: (line: string) => void lines.push(line) });
	return { log, limited: new LimitedLog(log, new FakeClock()), observers: [] };
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
		return options?.create({ clock: new FakeClock(), random: () => 0.5, defer: setImmediate });
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

	it('make a guest that knows its directory before it is open', async () => {
		expect((await create({}))?.status()).toMatchObject({ state: 'opening', directory });
	});
});

describe('where events go', () => {
	const announced = (env: Readonly<Record<string, string>>, addresses: readonly string[]): unknown[] => {
		const lines: string[] = [];
		announceEvents(reporting(lines).log, settingsOf(env), addresses);
		return lines.map((line) => JSON.parse(line));
	};

	it('is said with a command for a shell', () => {
		const [line] = announced({ SPOCK_EVENTS: '/log' }, ['127.0.0.1:1', '/uds/s.sock']);
		expect(line).toMatchObject({ directory: '/log', command: publishCommand('/uds/s.sock'), msg: 'taking events' });
		expect(publishCommand('/uds/s.sock')).toBe(
			`echo '{"id":1,"func":"publish","data":{"stream":"orders","payload":{"total":5}}}' | nc -N -U /uds/s.sock`,
		);
	});

	it('is said without one where there is no socket, and not at all without events', () => {
		expect(announced({ SPOCK_EVENTS: '/log' }, ['127.0.0.1:1'])).toEqual([
			expect.not.objectContaining({ command: expect.anything() }),
		]);
		expect(announced({}, ['/uds/s.sock'])).toEqual([]);
	});
});
