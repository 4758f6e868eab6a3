import { measure } from 'mitata';

import { hotPath } from './hot-path.ts';

/** How long single parts take. Prints one line of JSON. */
export async function probeMicro(): Promise<void> {
	const figures: { what: string; ns: number }[] = [];
	for (const [what, run] of hotPath()) figures.push({ what, ns: (await measure(run)).p50 });
	process.stdout.write(`${JSON.stringify(figures)}\n`);
}
