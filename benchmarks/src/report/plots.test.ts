import { parseXml } from '@rgrove/parse-xml';
import { describe, expect, it } from 'vitest';

import { contendersOf, PLOTTED_IDS } from './contenders.ts';
import { PLOTS, renderPlots } from './plots.ts';
import { emptyResults, sampleCall, sampleResults } from './sample-results.ts';

/** Each plot, and the words that say what it measures and in which unit. */
const UNITS: Readonly<Record<string, readonly string[]>> = {
	'latency-readme.svg': ['p50 of one call (µs)', '148 µs'],
	'latency-by-shape.svg': ['p50 of one call, logarithmic', '148 µs'],
	'throughput.svg': ['calls/s, logarithmic', '1,080,000'],
	'cpu-per-call.svg': ['CPU for each call (µs)', '33.4 µs'],
	'busy-node.svg': ['latency of one call, logarithmic', 'p50', 'p99', 'idle', 'busy'],
	'connections.svg': ['p99 of a call', 'Memory of each further connection (KB)', 'connections, logarithmic'],
	'in-flight.svg': ['Calls a second, logarithmic', 'Resident memory (MB), logarithmic', 'client', 'sidecar'],
	'registry.svg': ['resident memory of the sidecar (MB)', 'CPU of the sidecar for one push (µs)'],
	'watchers.svg': ['Added time (ms), logarithmic', 'watching clients, logarithmic', 'p50', 'p99'],
};
const BY_CONTENDER = PLOTS.slice(0, 5).map(({ file }) => file);

/** The texts of a plot, each trimmed; throws when it is no well-formed XML. */
function textsOf(svg: string | undefined): string[] {
	const { root } = parseXml(svg ?? '');
	return (root?.text ?? '').split('\n').map((line) => line.trim());
}

describe('renderPlots', () => {
	const full = renderPlots(sampleResults());
	const empty = renderPlots(emptyResults());

	it('gives the files that the page and the README refer to', () => {
		expect([...full.keys()].sort()).toEqual(Object.keys(UNITS).sort());
	});

	it.each(Object.entries(UNITS))('%s has its title, its origin, its units and its contenders', (file, units) => {
		const texts = textsOf(full.get(file));
		expect(texts).toContain('Example Processor 9000, 4 cores · Linux 6.1.0 · Node 24.11.0 · 2026-01-31');
		expect(texts).toEqual(expect.arrayContaining([...units]));
		expect(full.get(file)).toMatch(/^<svg role="img" aria-label="[^"]+"/);
		expect(full.get(file)).not.toMatch(/not measured|NaN|Infinity|undefined/);
		if (!BY_CONTENDER.includes(file)) return;
		const labels = contendersOf(sampleResults()).filter(({ id }) => PLOTTED_IDS.includes(id));
		expect(texts).toEqual(expect.arrayContaining(labels.map(({ label }) => label)));
	});

	it.each(Object.keys(UNITS))('%s says that nothing was measured', (file) => {
		expect(textsOf(empty.get(file))).toContain('not measured');
		expect(empty.get(file)).not.toMatch(/NaN|Infinity|undefined/);
	});

	it('gives the same bytes for the same results', () => {
		expect([...renderPlots(sampleResults())]).toEqual([...full]);
		expect([...renderPlots(emptyResults())]).toEqual([...empty]);
	});

	it('keeps the Node version and the date behind long names of others, and says that a run was a quick one', () => {
		const machine = { processor: 'P'.repeat(200), cores: 128, memoryMb: 1, kernel: `6.1-${'k'.repeat(200)}` };
		for (const svg of renderPlots(sampleResults({ machine, quick: true })).values()) {
			expect(svg).toMatch(/>P+…, 128 cores · Linux 6\.1-k+… · Node 24\.11\.0 · 2026-01-31 · quick run</);
		}
	});

	it('shows the product in the accent colour and says which peer is missing', () => {
		const calls = [sampleCall('spock', 'scheduler'), sampleCall('grpc-js-tcp', 'scheduler')];
		const svg = renderPlots(sampleResults({ calls })).get('latency-readme.svg');
		expect(svg).toMatch(/<text [^>]*bold[^>]*fill="#0969da">Diplomat and Spock</);
		expect(textsOf(svg).filter((text) => text === 'not measured')).toHaveLength(6);
		expect(svg).not.toMatch(/<text [^>]*opacity="0"/);
	});

	it('escapes the names of others, and cuts long ones', () => {
		const calls = [
			{ ...sampleCall('spock', 'scheduler'), label: '<b> & "c"' },
			{ ...sampleCall('ioredis', 'scheduler'), label: 'long '.repeat(40) },
		];
		const texts = textsOf(renderPlots(sampleResults({ calls })).get('latency-readme.svg'));
		expect(texts).toContain('<b> & "c"');
		expect(texts.some((text) => /^long .*\.\.\.$/.test(text) && text.length < 60)).toBe(true);
	});

	it('prints the sum of the parts of a bar, and once that both bars of a row are missing', () => {
		expect(textsOf(full.get('registry.svg')).filter((text) => text.endsWith(' MB')).length).toBeGreaterThan(0);
		const calls = [sampleCall('spock', 'two-cores')];
		const texts = textsOf(renderPlots(sampleResults({ calls })).get('busy-node.svg'));
		// Two panels: seven rows without any bar, and the product's busy one.
		expect(texts.filter((text) => text === 'not measured')).toHaveLength(16);
	});

	it.each([0, -1])('has a place for %d on a logarithmic axis', (p50Us) => {
		const calls = [{ ...sampleCall('spock', 'one-core'), p50Us }, sampleCall('ioredis', 'one-core')];
		const svg = renderPlots(sampleResults({ calls })).get('latency-by-shape.svg');
		expect(textsOf(svg)).toContain(`${p50Us === 0 ? '0' : '-1.00'} µs`);
		expect(svg).not.toMatch(/NaN|Infinity/);
	});

	it('leaves a point out of a line that a logarithm has no place for, and says so of a panel without points', () => {
		const watchers = [{ ...sampleResults().watchers[0], addedP50Ms: 0, addedP99Ms: 4 }] as never;
		const texts = textsOf(renderPlots(sampleResults({ watchers })).get('watchers.svg'));
		expect(texts).toContain('4.00');
		expect(texts).not.toContain('0');
		const inFlight = sampleResults().inFlight.map((figure) => ({ ...figure, callsPerSecond: 0 }));
		expect(textsOf(renderPlots(sampleResults({ inFlight })).get('in-flight.svg'))).toContain('not measured');
	});
});
