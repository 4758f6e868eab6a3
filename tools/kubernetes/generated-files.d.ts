import type { ManifestTools } from './manifest-tools.js';

export function generateFiles(
	directory: string,
	tools: ManifestTools,
	onFile: (path: string, text: string) => void,
): void;
