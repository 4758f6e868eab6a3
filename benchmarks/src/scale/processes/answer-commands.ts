import { createInterface } from 'node:readline';

/** Says that this process is ready, and answers each line of input, a command in JSON, with a line. Ends with its input. */
export async function answerCommands<Command>(answer: (command: Command) => unknown): Promise<void> {
	process.stdout.write('{"ready":true}\n');
	for await (const line of createInterface({ input: process.stdin })) {
		process.stdout.write(`${JSON.stringify((await answer(JSON.parse(line) as Command)) ?? null)}\n`);
	}
	process.exit(0);
}

/** Memory of this process in bytes, after a forced collection. Needs `--expose-gc`. */
export async function memoryNow(): Promise<{ readonly rss: number; readonly heap: number }> {
	const { gc } = globalThis;
	if (gc === undefined) throw new Error('this process needs --expose-gc');
	for (let round = 0; round < 3; round++) {
		gc();
		await new Promise((resolve) => setTimeout(resolve, 50));
	}
	const { rss, heapUsed, external } = process.memoryUsage();
	return { rss, heap: heapUsed + external };
}
