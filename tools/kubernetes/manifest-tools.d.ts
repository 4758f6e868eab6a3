export interface ManifestTools {
	readonly kustomize: string;
	readonly kubeconform: string;
	readonly schemas: string;
}

export function ensureManifestTools(kubernetesVersions: readonly string[]): ManifestTools;
