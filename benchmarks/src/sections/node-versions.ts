import { CONTENDERS } from '../contenders.ts';
import type { BenchResults } from '../results.ts';
import type { Run } from '../run.ts';
import { openToolbox } from '../toolbox.ts';
import { measureCalls } from './calls.ts';

const IDS: ReadonlySet<string> = new Set(['echo', 'spock', 'readline-node', 'grpc-js-tcp']);

/** The main contenders on each version of Node, all of them in turns. */
export async function measureNodeVersions(run: Run, nodes: readonly string[]): Promise<BenchResults['nodeVersions']> {
	const tools = new Map(nodes.map((node) => openToolbox(node)).map((box) => [box.nodeVersion, box]));
	const contenders = [...tools].flatMap(([version, box]) =>
		CONTENDERS.filter(({ id }) => IDS.has(id)).map((contender) => ({
			...contender,
			id: `${contender.id} ${version}`,
			tools: box,
		})),
	);
	try {
		const figures = await measureCalls(run, {
			contenders,
			shapes: ['one-core', 'two-cores', '64-in-flight', '1024-in-flight'],
			busy: [false],
			rounds: 5,
			durationMs: 400,
			warmupMs: 150,
		});
		return figures.map((figure) => {
			const [contender = '', node = ''] = figure.contender.split(' ');
			return { ...figure, contender, node };
		});
	} finally {
		for (const box of tools.values()) box.close();
	}
}
