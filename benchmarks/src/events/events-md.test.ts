import { describe, expect, it } from 'vitest';

import { renderEventsMarkdown } from './events-md.ts';
import { drawEventsTable } from './events-plot.ts';
import type { EventsResults, PartId, RowFigure, RowId } from './table/table-results.ts';

/** A row whose rounds move so many MB a second. */
function row(
	part: PartId,
	id: RowId,
	speeds: readonly number[],
	waits: RowFigure['rounds'][0]['waits'] = {},
): RowFigure {
	const rounds = speeds.map((speed) => ({
		...{ seconds: 10, messages: 600, bytes: speed * 1e7, waits },
		...{ linkBytes: speed * 5e6, cpuSeconds: { app: 1, store: 2, link: 1 }, othersShare: 0.25 },
	}));
	return { part, row: id, rounds };
}

const wait = { p50Ms: 154, p99Ms: 200 };

const results: EventsResults = {
	schema: 1,
	takenAt: '2026-01-02T03:04:05.000Z',
	quick: false,
	commit: 'abcdef0',
	machine: { processor: 'a processor', cores: 4 },
	node: 'v24.0.0',
	mebibytes: 256,
	rounds: 3,
	data: { codec: 'zstd', byMessage: 2.2, inOneContext: 3.1 },
	figures: [
		row('model', 'unary', [6, 5, 7], { acknowledged: wait }),
		row('model', 'stream-plain', [21.6]),
		row('model', 'stream-packed', [30]),
		row('model', 'events-packed', [66], { emitted: { p50Ms: 0.002, p99Ms: 1 }, persisted: wait, stored: wait }),
		row('slow', 'stream-packed', [10]),
		row('slow', 'events-packed', [14]),
	],
	peers: {
		takenAt: '2026-01-03T03:04:05.000Z',
		commit: 'fedcba0',
		node: 'v24.0.0',
		rounds: 3,
		versions: { '@grpc/grpc-js': '1.0.0', daprd: '2.0.0' },
		leftOut: [{ peer: 'kafka', why: 'no kfake: build it' }],
		figures: [
			{
				...{ peer: 'nats', p50Us: 250, p99Us: 900, eventsPerSecond: 12_000, othersShare: 0.07 },
				kills: [{ target: 'broker', kills: 10, acknowledged: 900, lost: 3, duplicated: 2, unfinished: 1 }],
			},
		],
	},
};

describe('the page on events', () => {
	const page = renderEventsMarkdown(results, 'The disk limits it.\n');
	const lines = page.split('\n');
	const line = (start: string): string => lines.find((one) => one.startsWith(start)) ?? '';

	it('gives the median of the rounds, beside the first row, and what the app waits for', () => {
		expect(line('| grpc-js unary')).toMatch(/\| +6\.00 \| +1\.00x \| +0\.500 \| .*acknowledged 154 ms/);
		expect(line('| Spock, compressed')).toMatch(
			/\| +66\.0 \| +11\.0x \| .*emitted 2\.00 µs, persisted 154 ms, stored 154 ms/,
		);
	});

	it('says of each thing that was wanted whether it was reached, missed or not measured', () => {
		const wanted = lines.slice(lines.indexOf('## What was wanted'));
		const verdict = (start: string): string => wanted.find((one) => one.startsWith(start)) ?? '';
		expect(verdict('| grpc-js stream, window 100 ')).toContain('| reached');
		expect(verdict('| grpc-js stream, compressed')).toContain('| **missed**');
		expect(verdict('| Spock, compressed ')).toMatch(/at least 10x, goal 12x \| +11\.0x \| reached/);
		expect(verdict('| Spock, plain ')).toMatch(/\| +not measured \| +\|$/);
		expect(verdict('| Spock, compressed, over')).toMatch(/1\.40x \| reached/);
		expect(page).toContain('The disk limits it.');
	});

	it('leaves out a part of which nothing was measured', () => {
		expect(page).not.toContain('## Without the limit of bytes');
	});

	it('says what was lost under kills', () => {
		expect(page).toMatch(/\| nats\.js[^|]*\| broker +\| +10 \| +900 \| +3 \| +2 \| +1 \|/);
	});

	it('says how quick a peer is, how much of the machine others used, and what was measured', () => {
		expect(page).toMatch(/\| nats\.js[^|]*\| in JetStream[^|]*\| +250 µs \| +900 µs \| +12,000 \| +7 % \|/);
		expect(page).toContain('@grpc/grpc-js 1.0.0, daprd 2.0.0');
		expect(page).toContain('the median of 3 rounds that take turns');
	});

	it('says which peers were left out, and why', () => {
		expect(page).not.toContain('kfake is one process');
		expect(page).toMatch(/^Left out of this run: @platformatic\/kafka.*; no kfake: build it\.$/m);
	});

	it('has a plot with the rows of each part', () => {
		const svg = drawEventsTable(results);
		expect(svg).toContain('Spock, compressed');
		expect(svg).toContain('66.0 MB/s');
		expect(drawEventsTable(results)).toBe(svg);
	});
});
