import { probe } from '../../sections/probes.ts';
import type { ScaleHopSettings } from '../processes/scale-hop.ts';
import type { HopFigure } from '../scale-results.ts';
import { type ConsulScaleRun, startSpock } from '../scale-run.ts';
import { serviceNames } from './registered-services.ts';

/** A watch asks Consul at most once a second, and a service changes less often. */
const SIZE = { services: 40, changes: 2000, gapMs: 40 };
const SIZE_QUICK = { services: 4, changes: 12, gapMs: 300 };

/** Changes in a real Consul, seen by one process at a node Spock, and at a sidecar that asks that one. */
export async function measureSecondHop(run: ConsulScaleRun): Promise<HopFigure> {
	const { services, changes, gapMs } = run.quick ? SIZE_QUICK : SIZE;
	const { url } = run.consul;
	const one = startSpock(run, 'hop-one', ['--backend', 'consul', '--consul', url]);
	const two = startSpock(run, 'hop-two', ['--backend', 'spock', '--upstream', `unix:${one.address}`]);
	try {
		const settings: ScaleHopSettings = {
			...{ consul: url, one: one.address, two: two.address, changes, gapMs },
			services: serviceNames('hop', services),
		};
		return await probe<HopFigure>(run, ['scale-hop', JSON.stringify(settings)]);
	} finally {
		await two.close();
		await one.close();
	}
}
