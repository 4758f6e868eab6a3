import { writeFileSync } from 'node:fs';

import { probe } from '../../sections/probes.ts';
import type { ScalePicksSettings } from '../processes/scale-picks.ts';
import type { PicksFigure } from '../scale-results.ts';
import { type ScaleRun, startSpock } from '../scale-run.ts';

const SIZE = { instances: 100, rounds: 41, picks: 200_000 };
const SIZE_QUICK = { instances: 100, rounds: 3, picks: 2000 };
const SERVICE = 'picked';

/** Picks from a snapshot that a real sidecar pushed. */
export async function measurePicks(run: ScaleRun): Promise<PicksFigure> {
	const { instances, rounds, picks } = run.quick ? SIZE_QUICK : SIZE;
	const file = run.place('picks.json');
	const list = Array.from({ length: instances }, (_, index) => ({
		id: `picked-${index}`,
		host: `10.2.0.${index}`,
		port: 8000,
		zone: zoneOf(index / instances),
	}));
	writeFileSync(file, JSON.stringify({ services: { [SERVICE]: list } }));
	const server = startSpock(run, 'picks', ['--backend', 'local', '--services', file]);
	try {
		const settings: ScalePicksSettings = { path: server.address, service: SERVICE, rounds, picks };
		return await probe<PicksFigure>(run, ['scale-picks', JSON.stringify(settings)]);
	} finally {
		await server.close();
	}
}

/** Half in a, three tenths in b, a fifth in c: c has less than the third that its callers need. */
function zoneOf(share: number): string {
	return share < 0.5 ? 'a' : share < 0.8 ? 'b' : 'c';
}
