/** Installs archives, and these dependencies, into the directory of an app. Returns the manifest that it has written. */
export function installPacked(
	app: string,
	archives: readonly string[],
	dependencies: Readonly<Record<string, string>>,
	options?: { readonly quiet?: boolean },
): object;
