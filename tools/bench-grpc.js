// `npm run bench grpc`: five gRPC workers called in four ways, and one of them killed amid the load; about two minutes. Prints the
// table; `--docs` puts it into docs/integrations/grpc.md, with the figures and plots beside it. `render` makes these again from the
// figures. Everything else goes to examples/employer-employee/load.js: `--requests`, `--in-flight`, `--work-ms`, `--notice-ms`.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';

import { replaceInDocs } from './docs-section.js';
import { loadSource } from './load-source.js';
import { ensureBuilt, ensureInstalled, root, run, say } from './prepare.js';

const PAGE = 'docs/integrations/grpc.md';

ensureInstalled();
ensureBuilt();

const args = process.argv.slice(2);
const isRender = args[0] === 'render';
const writesDocs = isRender || args.includes('--docs');
const kept = join(root, 'docs/integrations/grpc-load.json');

/** Measures, and gives the results with where they were taken. */
function measure() {
	mkdirSync(join(root, 'reports'), { recursive: true });
	const json = join(root, 'reports/grpc-load.json');
	const rest = args.filter((arg) => arg !== '--docs');
	run(process.execPath, [join(root, 'examples/employer-employee/load.js'), ...rest, '--json', json]);
	const [processor] = cpus();
	return {
		takenAt: new Date().toISOString(),
		machine: { processor: processor?.model.trim() ?? 'unknown', cores: cpus().length },
		node: process.versions.node,
		...JSON.parse(readFileSync(json, 'utf8')),
	};
}

const { renderGrpcLoadTable, drawGrpcLoad } = await loadSource(
	`export * from './benchmarks/src/grpc-load/render-grpc-load.ts';`,
);

const results = isRender ? JSON.parse(readFileSync(kept, 'utf8')) : measure();
const { machine, node, takenAt } = results;
const origin = `Taken on ${takenAt.slice(0, 10)}, on ${machine.cores} cores (${machine.processor}), Node ${node}.`;
const tables = `${renderGrpcLoadTable(results)}\n\n${origin}`;
say(tables);
if (writesDocs) {
	const rounded = (_name, value) => (typeof value === 'number' ? Number(value.toPrecision(6)) : value);
	writeFileSync(kept, `${JSON.stringify(results, rounded, '\t')}\n`);
	for (const [name, svg] of Object.entries(drawGrpcLoad(results))) {
		writeFileSync(join(root, 'docs/integrations', name), svg);
	}
	replaceInDocs('load test', tables, PAGE);
}
