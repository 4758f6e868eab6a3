import type { ChangeFigure } from '../../consul/consul-results.ts';
import { probe } from '../../sections/probes.ts';
import { type ConsulScaleRun, startSpock } from '../scale-run.ts';

const SIZE = { watched: 1000, changes: 500, gapMs: 100 };
const SIZE_QUICK = { watched: 10, changes: 20, gapMs: 50 };

/** Changes of services in a real Consul, beside bare blocking queries for as many, in turn; the sidecar has its defaults. */
export async function measureManyServices(run: ConsulScaleRun): Promise<ChangeFigure> {
	const { watched, changes, gapMs } = run.quick ? SIZE_QUICK : SIZE;
	const { url } = run.consul;
	const server = startSpock(run, 'many', ['--backend', 'consul', '--consul', url]);
	try {
		const args = [url, server.address, String(watched), String(changes), String(gapMs)];
		return await probe<ChangeFigure>(run, ['consul-changes', ...args]);
	} finally {
		await server.close();
	}
}
