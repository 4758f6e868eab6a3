import type { Contender } from '../contenders.ts';
import { serveSpock } from '../contenders.ts';
import { buildVariant, type Framing } from '../experiments/framing/build-variant.ts';
import type { CallFigure } from '../results.ts';
import type { Run } from '../run.ts';
import { measureCalls } from './calls.ts';

/** The product's framing beside length-prefixed frames: the same client and sidecar, the same payloads. */
export async function measureFraming(run: Run): Promise<CallFigure[]> {
	return measureCalls(run, {
		contenders: [
			await contender(run, 'newline', 'newline-delimited JSON'),
			await contender(run, 'binary', 'length-prefixed frames'),
		],
		shapes: ['one-core', 'two-cores', '64-in-flight', '1024-in-flight'],
		busy: [false],
		rounds: run.quick ? 3 : 9,
		durationMs: run.quick ? 400 : 1000,
		warmupMs: run.quick ? 150 : 300,
	});
}

async function contender({ tools }: Run, framing: Framing, label: string): Promise<Contender> {
	const entry = await buildVariant(framing, tools.directory);
	return {
		id: framing,
		label,
		serve: (tools) => serveSpock({ ...tools, sidecar: entry('sidecar') }, `framing-${framing}`),
		client: ({ node }, { address, pid }) => [node, entry('load-client'), 'spock', address, String(pid)],
	};
}
