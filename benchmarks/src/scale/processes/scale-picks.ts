import { connect, type Diplomat, type DiplomatOptions } from '@spock/client';

import { median } from '../../load/samples.ts';
import type { PicksFigure } from '../scale-results.ts';

/** What {@link probeScalePicks} is given: a service with instances in the zones a, b and c, of which c has too few. */
export interface ScalePicksSettings {
	readonly path: string;
	readonly service: string;
	readonly rounds: number;
	/** Of each way, in each round. */
	readonly picks: number;
}

const WAYS = {
	plain: {},
	local: { zone: 'a', zonePolicy: 'prefer' },
	spilled: { zone: 'c', zonePolicy: 'prefer' },
	subset: { subset: 20, subsetKey: 'bench' },
	both: { zone: 'c', zonePolicy: 'prefer', subset: 20, subsetKey: 'bench' },
} as const satisfies Record<string, DiplomatOptions>;

type WayName = keyof typeof WAYS;

/** Ways to pick, which take turns within each round. Prints one line of JSON. */
export async function probeScalePicks([settings = '{}']: readonly string[]): Promise<void> {
	const { path, service, rounds, picks } = JSON.parse(settings) as ScalePicksSettings;
	const names = Object.keys(WAYS) as WayName[];
	const ways = new Map<WayName, { readonly diplomat: Diplomat; readonly ns: number[] }>();
	let instances = 0;
	for (const name of names) {
		const diplomat = await connect({ path, ...WAYS[name] });
		instances = (await diplomat.getInstances(service)).instances.length;
		ways.set(name, { diplomat, ns: [] });
	}
	// One more round first, for the compiler.
	for (let round = -1; round < rounds; round++) {
		// Each begins as often: the first one of a round is slower.
		for (let turn = 0; turn < names.length; turn++) {
			const way = ways.get(names[(round + 1 + turn) % names.length] as WayName);
			if (way === undefined) continue;
			const ns = pickMany(way.diplomat, service, picks);
			if (round >= 0) way.ns.push(ns);
		}
	}
	const plain = ways.get('plain')?.ns ?? [];
	const ratio = (name: WayName): number => {
		const ns = ways.get(name)?.ns ?? [];
		return median(ns.map((one, round) => one / (plain[round] ?? Number.NaN)));
	};
	const figure: PicksFigure = {
		instances,
		rounds,
		plainNs: median(plain),
		local: ratio('local'),
		spilled: ratio('spilled'),
		subset: ratio('subset'),
		both: ratio('both'),
	};
	process.stdout.write(`${JSON.stringify(figure)}\n`);
	for (const { diplomat } of ways.values()) await diplomat.close();
}

/** Time of one, in nanoseconds. */
function pickMany(diplomat: Diplomat, service: string, picks: number): number {
	const startedNs = process.hrtime.bigint();
	for (let pick = 0; pick < picks; pick++) {
		if (diplomat.pick(service) === undefined) throw new Error('a pick found nothing');
	}
	return Number(process.hrtime.bigint() - startedNs) / picks;
}
