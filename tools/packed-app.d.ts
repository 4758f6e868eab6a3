/** Packs each package that is published into a directory; returns the paths of the archives. */
export function packAll(directory: string): string[];
/** Installs archives, and these dependencies, into the directory of an app. Returns the manifest that it has written. */
export function installPacked(
	app: string,
	archives: readonly string[],
	dependencies: Readonly<Record<string, string>>,
	options?: { readonly quiet?: boolean },
): object;
