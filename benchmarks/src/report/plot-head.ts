import type { BenchResults } from '../results.ts';

/** Characters of the names that others chose, so that what follows them is never cut off. */
const PROCESSOR_LENGTH_MAX = 44;
const KERNEL_LENGTH_MAX = 26;

/** The line under a plot's title: where its figures come from. */
export function plotSubtitle(results: BenchResults): string {
	const { processor, cores, kernel } = results.machine;
	const parts = [
		`${shorten(processor, PROCESSOR_LENGTH_MAX)}, ${cores} ${cores === 1 ? 'core' : 'cores'}`,
		shorten(kernelName(kernel), KERNEL_LENGTH_MAX),
		nodeName(results.node),
		results.takenAt.slice(0, 10),
		...(results.quick ? ['quick run'] : []),
	];
	return parts.join(' · ');
}

/** "Node 24.1.0", however the results spell the version. */
export function nodeName(version: string): string {
	return `Node ${version.replace(/^(?:node\s*)?v?/i, '')}`;
}

/** "Linux 6.8.0", however the results spell the kernel. */
export function kernelName(kernel: string): string {
	return /^\d/.test(kernel) ? `Linux ${kernel}` : kernel;
}

function shorten(text: string, lengthMax: number): string {
	return text.length <= lengthMax ? text : `${text.slice(0, lengthMax - 1).trimEnd()}…`;
}
