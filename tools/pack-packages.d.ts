/**
 * Packs packages into a folder, in place of the archives there: those named and what they need, or all. `isChecked`: each archive is looked at
 * by publint and are-the-types-wrong. Ends the process where one of them finds something. Returns the paths of the archives.
 */
export function packPackages(
	folder: string,
	options?: { readonly names?: readonly string[]; readonly isChecked?: boolean },
): string[];
