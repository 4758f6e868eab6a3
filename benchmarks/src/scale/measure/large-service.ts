import { writeFileSync } from 'node:fs';

import { probe } from '../../sections/probes.ts';
import type { ScaleLargeSettings } from '../processes/scale-large.ts';
import type { LargeServiceFigure } from '../scale-results.ts';
import { type ScaleRun, startSpock } from '../scale-run.ts';

const INSTANCES = 10_000;
const INSTANCES_QUICK = 100;

/** A service of a services file, looked up by a client with its defaults. */
export async function measureLargeService(run: ScaleRun): Promise<LargeServiceFigure> {
	const instances = run.quick ? INSTANCES_QUICK : INSTANCES;
	const file = run.place('large.json');
	const services = { small: instancesOf('small', 1), large: instancesOf('large', instances) };
	writeFileSync(file, JSON.stringify({ services }));
	const server = startSpock(run, 'large', ['--backend', 'local', '--services', file]);
	try {
		const settings: ScaleLargeSettings = { path: server.address, small: 'small', large: 'large', instances };
		return await probe<LargeServiceFigure>(run, ['scale-large', JSON.stringify(settings)], ['--expose-gc']);
	} finally {
		await server.close();
	}
}

function instancesOf(service: string, count: number): object[] {
	return Array.from({ length: count }, (_, index) => ({
		id: `node-${index >> 4}/${service}-${index}`,
		host: `10.1.${index >> 8}.${index & 255}`,
		port: 8000 + (index % 1000),
		zone: `zone-${index % 3}`,
	}));
}
