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
