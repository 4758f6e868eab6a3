export interface ManifestTools {
	readonly kustomize: string;
	readonly helm: string;
	readonly kustomizeOldest: string;
	readonly kubeconform: string;
	readonly schemas: string;
}

export function ensureManifestTools(kubernetesVersions: readonly string[]): ManifestTools;
export function ensureCompose(): string;
export function ensureInjector(version: string): { readonly injector: string; readonly openApi: string };
export function runTool(
	command: string,
	args: readonly string[],
	options?: { readonly input?: string; readonly cwd?: string; readonly env?: NodeJS.ProcessEnv },
): string;
