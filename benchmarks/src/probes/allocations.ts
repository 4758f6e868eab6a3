import { allocatedBytes } from './allocated-bytes.ts';
import { clientCalls } from './client-calls.ts';
import { hotPath, type Operation } from './hot-path.ts';

/** What one operation allocates. */
export interface Allocation {
	readonly what: string;
	readonly bytes: number;
}

/** Bytes that single parts and whole calls allocate. Prints one line of JSON. Needs Node with ALLOCATION_FLAGS. */
export async function probeAllocations(): Promise<void> {
	const client = await clientCalls();
	const figures: Allocation[] = [];
	for (const [what, run] of [...controls(), ...hotPath(), ...client.operations]) {
		figures.push({ what, bytes: await allocatedBytes(run) });
	}
	await client.close();
	process.stdout.write(`${JSON.stringify(figures)}\n`);
}

/** What is known beforehand: whoever reads the figures sees that small allocations are seen, and none where none is. */
function controls(): readonly Operation[] {
	let kept: unknown;
	return [
		['control: nothing', () => kept],
		[
			'control: an object of two members',
			() => {
				kept = { first: kept === undefined, second: 2 };
			},
		],
	];
}
