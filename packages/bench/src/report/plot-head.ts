import type { BenchResults } from '../results.ts';
import { SUBTITLE_SIZE } from './svg-card.ts';
import { fitText } from './svg-element.ts';

/** Room for the names that others chose, so that what follows them is never cut off. */
const PROCESSOR_WIDTH_MAX = 290;
const KERNEL_WIDTH_MAX = 170;

/** The line under a plot's title: where its figures come from. */
export function plotSubtitle(results: BenchResults): string {
	const { processor, cores, kernel } = results.machine;
	const parts = [
		`${fitText(processor, SUBTITLE_SIZE, PROCESSOR_WIDTH_MAX)}, ${cores} ${cores === 1 ? 'core' : 'cores'}`,
		fitText(kernelName(kernel), SUBTITLE_SIZE, KERNEL_WIDTH_MAX),
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
