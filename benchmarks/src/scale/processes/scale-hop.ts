import { setTimeout as delay } from 'node:timers/promises';

import { connect } from '@spock/client';

import { CatalogWriter } from '../../consul/catalog-writer.ts';
import { Samples } from '../../load/samples.ts';
import type { HopFigure } from '../scale-results.ts';

/** What {@link probeScaleHop} is given. */
export interface ScaleHopSettings {
	readonly consul: string;
	/** The node Spock, and a sidecar that asks it. */
	readonly one: string;
	readonly two: string;
	readonly services: readonly string[];
	readonly changes: number;
	readonly gapMs: number;
}

const FIRST_PORT = 1000;
const SEEN_MS_MAX = 20_000;

/** When a change was made, and when it was seen at each place. */
interface Sighting {
	readonly putMs: number;
	oneMs?: number;
	twoMs?: number;
}

/** Changes in a real Consul, seen by one process behind one Spock and behind two. Prints one line of JSON. */
export async function probeScaleHop([settings = '{}']: readonly string[]): Promise<void> {
	const { consul, one, two, services, changes, gapMs } = JSON.parse(settings) as ScaleHopSettings;
	const sightings = new Map<string, Sighting>();
	const first = { oneMs: new Set<string>(), twoMs: new Set<string>() };
	using writer = new CatalogWriter(consul);
	for (const service of services) await writer.put(service, FIRST_PORT);
	// Each client's work delays the other's: the farther one is read first where both have come.
	const places = [
		[await connect({ path: two }), 'twoMs'],
		[await connect({ path: one }), 'oneMs'],
	] as const;
	for (const [diplomat, when] of places) {
		for (const service of services) {
			diplomat.observeService(service, {
				next: ({ instances }) => {
					const seenMs = performance.now();
					first[when].add(service);
					for (const { port } of instances) {
						const sighting = sightings.get(`${service}:${port}`);
						if (sighting !== undefined) sighting[when] ??= seenMs;
					}
				},
			});
		}
	}
	await until(() => first.oneMs.size + first.twoMs.size === services.length * 2);
	let dueMs = performance.now();
	for (let change = 0; change < changes; change++) {
		const service = services[change % services.length] ?? '';
		const port = FIRST_PORT + 1 + Math.floor(change / services.length);
		dueMs += gapMs;
		await delay(Math.max(0, dueMs - performance.now()));
		sightings.set(`${service}:${port}`, { putMs: performance.now() });
		await writer.put(service, port);
	}
	const all = [...sightings.values()];
	await until(() => all.every(({ oneMs, twoMs }) => oneMs !== undefined && twoMs !== undefined));
	process.stdout.write(`${JSON.stringify(figureOf(all))}\n`);
	await Promise.all(places.map(([diplomat]) => diplomat.close()));
}

function figureOf(all: readonly Sighting[]): HopFigure {
	const seen = all.flatMap(({ putMs, oneMs, twoMs }) =>
		oneMs === undefined || twoMs === undefined
			? []
			: [{ one: oneMs - putMs, two: twoMs - putMs, added: twoMs - oneMs }],
	);
	const at = (name: 'one' | 'two' | 'added', share: number): number => {
		const samples = new Samples();
		for (const sample of seen) samples.add(sample[name]);
		samples.sort();
		return samples.percentile(share);
	};
	return {
		changes: all.length,
		unseen: all.length - seen.length,
		oneP50Ms: at('one', 0.5),
		oneP99Ms: at('one', 0.99),
		twoP50Ms: at('two', 0.5),
		twoP99Ms: at('two', 0.99),
		addedP50Ms: at('added', 0.5),
		addedP99Ms: at('added', 0.99),
	};
}

/** Gives up without a word: what was not seen is counted. */
async function until(holds: () => boolean): Promise<void> {
	const deadlineMs = performance.now() + SEEN_MS_MAX;
	while (!holds() && performance.now() < deadlineMs) await delay(5);
}
