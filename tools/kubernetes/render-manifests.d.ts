import type { ManifestTools } from './manifest-tools.js';

interface Rendering {
	readonly name: string;
	readonly path: string;
	readonly versions: readonly string[];
}

export const KUBERNETES_VERSIONS: readonly [oldest: string, oldestWithNativeSidecars: string, newest: string];

export function renderings(directory: string): readonly Rendering[];
export function render(path: string, tools: ManifestTools): string;
export function problemsOf(file: string, version: string, tools: ManifestTools): readonly string[];
export function renderChart(path: string, tools: ManifestTools, args?: readonly string[]): string;
export function withCharts<T>(
	directory: string,
	tools: ManifestTools,
	work: (helm: (args: readonly string[]) => string) => T,
): T;
