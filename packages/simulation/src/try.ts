import { runSeed } from './run-seed.ts';

const [from = '1', to = '5', trace] = process.argv.slice(2);
for (let seed = Number(from); seed <= Number(to); seed++) {
	const started = performance.now();
	const { events, hash, violation, counts, tail, virtualMs } = await runSeed(seed, { keepsTrace: trace !== undefined });
	process.stdout.write(`${seed} ${events} ${virtualMs} ${hash} ${JSON.stringify(counts)} ${Math.round(performance.now() - started)} ms ${JSON.stringify(violation ?? 'ok')}\n`);
	if (trace) process.stdout.write(`${tail.join('\n')}\n`);
}
