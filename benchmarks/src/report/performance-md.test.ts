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
		for (const command of ['npm run bench ', 'npm run bench -- --quick', 'npm run bench render', 'do not edit']) {
			expect(page).toContain(command);
		}
	});

	it('has a contender that only the results know', () => {
		const calls = [{ ...sampleCall('spock', 'one-core'), contender: 'newcomer', label: 'new|comer' }];
		const page = renderPerformanceMarkdown(sampleResults({ calls }), prose);
		expect(page).toContain('- **new|comer**');
		expect(page).toContain('| new\\|comer ');
	});

	it('has of each load the figure that it is about, and says which calls failed', () => {
		const calls = [
			{ ...sampleCall('echo', 'one-core'), p50Us: 20, cpuUs: 25 },
			{ ...sampleCall('spock', 'one-core'), p50Us: 26, cpuUs: 35 },
			{ ...sampleCall('spock', '1024-in-flight'), callsPerSecond: 1_230_000, cpuUs: 1.4, errors: 1234 },
		];
		const page = renderPerformanceMarkdown(sampleResults({ calls }), prose);
		const headings = ['one core: p50 µs', '1024 in flight: calls/s', 'one core: CPU µs', '1024 in flight: CPU µs'];
		expect(page).toMatch(new RegExp(`\\| Contender +\\| ${headings.join(' \\| ')} \\|\n`));
		expect(page).toMatch(/\| echo, raw node:net +\| +20\.0 \| +not measured \| +25\.0 \| +not measured \|\n/);
		expect(page).toMatch(/\| \*\*Diplomat and Spock\*\* \| +26\.0 \| +1,230,000 \| +35\.0 \| +1\.40 \|\n/);
		expect(page).toContain('Calls failed (1024 in flight): Diplomat and Spock, 1,234.');
	});

	it('has the product on each version of Node, in one row for each load', () => {
		const figure = (id: string, node: string, p50Us: number) => ({
			...sampleCall(id, 'one-core'),
			node,
			p50Us,
			cpuUs: 2 * p50Us,
		});
		const nodeVersions = [
			figure('echo', 'v20.19.5', 9),
			figure('spock', 'v20.19.5', 30),
			figure('spock', 'v24.11.0', 25),
		];
		const page = renderPerformanceMarkdown(sampleResults({ nodeVersions }), prose);
		const headings = ['Node 20.19.5: p50 µs', 'Node 20.19.5: CPU µs', 'Node 24.11.0: p50 µs', 'Node 24.11.0: CPU µs'];
		expect(page).toContain(`| ${headings.join(' | ')} |\n`);
		expect(page).toMatch(/\| one core \| +30\.0 \| +60\.0 \| +25\.0 \| +50\.0 \|\n/);
	});

	it('has the gRPC front beside its peers, in one row for each contender', () => {
		const figure = (id: string, shape: 'two-cores' | '64-in-flight', p50Us: number) => ({
			...sampleCall(id, shape),
			p50Us,
			callsPerSecond: 10 * p50Us,
			cpuUs: 2 * p50Us,
		});
		const grpcFront = [figure('spock', 'two-cores', 120), figure('grpc-js-unix', '64-in-flight', 440)];
		const page = renderPerformanceMarkdown(sampleResults({ grpcFront }), prose);
		expect(page).toContain('| two cores: p50 µs | two cores: calls/s |');
		expect(page).toMatch(/\| \*\*Diplomat and Spock\*\* +\| +120 \| +1,200 \| +240 \| +not measured \|/);
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
