import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';

import { serveSpock } from '../contenders.ts';
import { ALLOCATION_FLAGS } from '../probes/allocated-bytes.ts';
import type { Allocation } from '../probes/allocations.ts';
import type { BenchResults } from '../results.ts';
import type { Run } from '../run.ts';
import type { OwnTools } from '../toolbox.ts';

/** Lookups within the process, from a snapshot that a real sidecar pushed. */
export async function measureLookups(run: Run): Promise<BenchResults['lookups']> {
	const server = await serveSpock(run.tools, 'lookups');
	try {
		const figures = await probe<BenchResults['lookups']>(run, ['lookups', server.address]);
		run.say('lookups within the process');
		return figures;
	} finally {
		await server.close();
	}
}

/** Ring, decoder, encoder, picker, cache, each by itself. Time and memory are taken by different processes. */
export async function measureMicro(run: Run): Promise<BenchResults['micro']> {
	const times = await probe<readonly { what: string; ns: number }[]>(run, ['micro']);
	const allocations = await probe<readonly Allocation[]>(run, ['allocations'], ALLOCATION_FLAGS);
	run.say('micro benchmarks');
	return times.map(({ what, ns }) => {
		const bytes = allocations.find((allocation) => allocation.what === what)?.bytes;
		return { what, ns, bytes: bytes === undefined ? null : Math.round(bytes) };
	});
}

/** Runs a probe to its end and gives the JSON that it prints. */
export async function probe<T>(
	{ tools }: { readonly tools: OwnTools },
	args: readonly string[],
	flags: readonly string[] = [],
): Promise<T> {
	const child = spawn(tools.node, [...flags, tools.entry('probe'), ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
	const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'exit') as Promise<[number | null]>]);
	if (code !== 0) throw new Error(`the probe ${args[0]} ended with ${code}`);
	return JSON.parse(output) as T;
}
