/** What of esbuild's plugin interface is used, so that nothing has to be installed for it. */
interface PluginBuild {
	onResolve(
		options: { readonly filter: RegExp },
		callback: (place: { readonly path: string; readonly resolveDir: string }) => { path: string; namespace: string },
	): void;
	onLoad(
		options: { readonly filter: RegExp; readonly namespace: string },
		callback: (file: { readonly path: string }) => Promise<{ contents: string; loader: 'text' }>,
	): void;
}

/** A plugin of esbuild, for everything that bundles the sidecar: files that are imported as text, by `?raw`. */
export const rawFiles: { readonly name: string; setup(build: PluginBuild): void };
