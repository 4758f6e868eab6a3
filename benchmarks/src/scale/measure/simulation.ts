import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

import type { SimulationFigure } from '../scale-results.ts';
import type { ScaleRun } from '../scale-run.ts';

const SIZE = { nodes: 200, podsEach: 50 };
const SIZE_QUICK = { nodes: 10, podsEach: 5 };

/** What `npm run suite simulation --nodes` prints. */
type Printed = Omit<SimulationFigure, 'pods'> & { readonly podsEach: number };

/** Pods with a sidecar each, which asks its node's; the simulation runs on the sources. */
export async function measureSimulation({ tools, quick }: ScaleRun): Promise<SimulationFigure> {
	const { nodes, podsEach } = quick ? SIZE_QUICK : SIZE;
	const program = join(tools.repository, 'tools/simulation.js');
	const args = ['--nodes', String(nodes), '--pods-each', String(podsEach), '--own-sidecars', '--json'];
	const child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
	const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'exit') as Promise<[number | null]>]);
	const line = output.split('\n').find((one) => one.startsWith('{'));
	// With 1 it has a result: lookups failed.
	if (line === undefined) throw new Error(`the simulation ended with ${code} and no result`);
	const { podsEach: each, ...figure } = JSON.parse(line) as Printed;
	return { ...figure, pods: figure.nodes * each };
}
