import { describe, expect, it } from 'vitest';

import { CONTENDERS } from './contenders.ts';
import { renderPerformanceMarkdown } from './performance-md.ts';
import { PLOTS } from './plots.ts';
import { emptyResults, sampleCall, sampleResults } from './sample-results.ts';

const prose = { whatLimitsUs: '\nThe wake-up of the *other* process.\n\n' };

describe('renderPerformanceMarkdown', () => {
	it('holds every contender, every plot and the prose', () => {
		const page = renderPerformanceMarkdown(sampleResults(), prose);
		for (const { label } of CONTENDERS) expect(page).toContain(`- **${label}**: `);
		for (const { file } of PLOTS) expect(page).toContain(`](performance/${file})`);
		expect(page).toContain('\n## What limits us now\n\nThe wake-up of the *other* process.\n\n## ');
	});

	it('says where the figures come from and how to get them again', () => {
		const page = renderPerformanceMarkdown(sampleResults(), prose);
		for (const text of [
			'Example Processor 9000, 4 cores',
			'Linux 6.1.0',
			'Node 24.11.0',
			'ioredis 6.0.0',
			'0123456789abcdef',
		]) {
			expect(page).toContain(text);
		}
		for (const command of ['pnpm bench ', 'pnpm bench:quick', 'pnpm bench render', 'do not edit']) {
			expect(page).toContain(command);
		}
	});

	it('has a contender that only the results know', () => {
		const calls = [{ ...sampleCall('spock', 'one-core'), contender: 'newcomer', label: 'new|comer' }];
		const page = renderPerformanceMarkdown(sampleResults({ calls }), prose);
		expect(page).toContain('- **new|comer**');
		expect(page).toContain('| new\\|comer ');
	});

	it('compares with the echo of the same load', () => {
		const calls = [
			{ ...sampleCall('echo', 'one-core'), p50Us: 20, cpuUs: 25 },
			{ ...sampleCall('spock', 'one-core'), p50Us: 26, cpuUs: 35 },
		];
		const page = renderPerformanceMarkdown(sampleResults({ calls }), prose);
		expect(page).toMatch(/\| \*\*Diplomat and Spock\*\* .*\| +1\.30x \| +1\.40x \|/);
	});

	it('says which calls failed', () => {
		const calls = [{ ...sampleCall('spock', '1024-in-flight'), errors: 1234 }];
		expect(renderPerformanceMarkdown(sampleResults({ calls }), prose)).toContain(
			'Calls failed: Diplomat and Spock, 1,234.',
		);
	});

	it('has the loads on a busy node in one table, with the calls that failed', () => {
		const calls = [
			{ ...sampleCall('spock', 'two-cores', true), p99Us: 3150, errors: 12 },
			{ ...sampleCall('spock', '64-in-flight', true), p99Us: 4150 },
			{ ...sampleCall('echo', '64-in-flight', true), p99Us: 2150 },
		];
		const page = renderPerformanceMarkdown(sampleResults({ calls }), prose);
		expect(page).toMatch(/### On a busy node\n\n.*\n\n\| Contender +\| +two cores \| +64 in flight \|\n/);
		expect(page).toMatch(/\| echo, raw node:net +\| not measured \| +2,150 \|\n/);
		expect(page).toMatch(/\| \*\*Diplomat and Spock\*\* +\| +3,150 \| +4,150 \|\n/);
		expect(page).toContain('Calls failed (two cores): Diplomat and Spock, 12.');
	});

	it('has the versions of Node side by side, one row for each load and contender', () => {
		const figure = (node: string, p50Us: number) => ({
			...sampleCall('spock', 'one-core'),
			node,
			p50Us,
			cpuUs: 2 * p50Us,
		});
		const nodeVersions = [figure('v20.19.5', 30), figure('v24.11.0', 25)];
		const page = renderPerformanceMarkdown(sampleResults({ nodeVersions }), prose);
		const headings = ['Node 20.19.5: p50 µs', 'Node 20.19.5: CPU µs', 'Node 24.11.0: p50 µs', 'Node 24.11.0: CPU µs'];
		expect(page).toContain(`| ${headings.join(' | ')} |\n`);
		expect(page).toMatch(/\| one core \| \*\*Diplomat and Spock\*\* \| +30\.0 \| +60\.0 \| +25\.0 \| +50\.0 \|\n/);
	});

	it('gives every row of a table as many cells as its heading', () => {
		for (const results of [sampleResults(), emptyResults()]) {
			const tables = renderPerformanceMarkdown(results, prose)
				.split(/\n\n+/)
				.filter((block) => block.startsWith('|'));
			for (const table of tables) {
				expect(new Set(table.split('\n').map((row) => row.replaceAll('\\|', '').split('|').length)).size).toBe(1);
			}
		}
	});

	it('survives a run that measured nothing, and says what was left out', () => {
		const page = renderPerformanceMarkdown(emptyResults(), { whatLimitsUs: ' ' });
		expect(page).toContain('The calls were not measured.');
		expect(page).toContain('- everything: this run only exists in tests');
		expect(page).toContain('(not measured in this run)');
		expect(page).not.toMatch(/NaN|Infinity|undefined|\[object/);
	});

	it('gives the same bytes for the same results', () => {
		expect(renderPerformanceMarkdown(sampleResults(), prose)).toBe(renderPerformanceMarkdown(sampleResults(), prose));
	});
});
