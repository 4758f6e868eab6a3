import { describe, expect, it } from 'vitest';

import { PLOTS, renderPlots } from './plots.ts';
import { emptyResults, sampleCall, sampleResults } from './sample-results.ts';
import { assertWellFormed } from './xml-check.ts';

describe('renderPlots', () => {
	it('gives the files that the page and the README refer to', () => {
		expect([...renderPlots(sampleResults()).keys()].sort()).toEqual([
			'busy-node.svg',
			'connections.svg',
			'cpu-per-call.svg',
			'in-flight.svg',
			'latency-by-shape.svg',
			'latency-readme.svg',
			'registry.svg',
			'throughput.svg',
			'watchers.svg',
		]);
	});

	it.each(PLOTS.map((plot) => [plot.file, plot] as const))('%s is well-formed, full or empty', (_, plot) => {
		const full = plot.draw(sampleResults());
		assertWellFormed(full);
		expect(full).toContain('Example Processor 9000, 4 cores · Linux 6.1.0 · Node 24.11.0 · 2026-01-31');
		expect(full).not.toMatch(/not measured|NaN|Infinity|undefined/);
		const empty = plot.draw(emptyResults());
		assertWellFormed(empty);
		expect(empty).toContain('>not measured</text>');
		expect(empty).not.toMatch(/NaN|Infinity|undefined/);
	});

	it('gives the same bytes for the same results', () => {
		expect([...renderPlots(sampleResults())]).toEqual([...renderPlots(sampleResults())]);
	});

	it('says that a run was a quick one', () => {
		for (const svg of renderPlots(sampleResults({ quick: true })).values()) expect(svg).toContain('quick run');
	});

	it('shows the product in the accent colour and says which peer is missing', () => {
		const calls = [sampleCall('spock', 'scheduler'), sampleCall('grpc-js-tcp', 'scheduler')];
		const svg = renderPlots(sampleResults({ calls })).get('latency-readme.svg');
		expect(svg).toMatch(/font-weight="600" text-anchor="end" fill="#0969da">Diplomat and Spock</);
		expect(svg?.match(/>not measured</g)).toHaveLength(6);
	});
});

describe('the line under the title', () => {
	it('keeps the Node version and the date behind long names of others', () => {
		const machine = { processor: 'P'.repeat(200), cores: 128, memoryMb: 1, kernel: `6.1-${'k'.repeat(200)}` };
		for (const svg of renderPlots(sampleResults({ machine, quick: true })).values()) {
			expect(svg).toMatch(/>PP[^<]*…, 128 cores · Linux 6\.1-k[^<]*… · Node 24\.11\.0 · 2026-01-31 · quick run</);
		}
	});
});
