// What is derived from release.json, where the owner of the project names its public addresses.

const ADDRESSES = ['repository', 'issues', 'documentation'];

/** Throws an Error for a name that nothing can be derived from. */
export function checkRelease(release) {
	if (!/^@[a-z0-9-]+$/.test(release.scope))
		throw new Error('scope in release.json must be a scope of npm such as @spock');
	for (const name of ADDRESSES) {
		const address = release[name];
		if (address !== null && !/^https:\/\/[^\s'#?]*[^\s'#?/]$/.test(address)) {
			throw new Error(`${name} in release.json must be null, or an address https://… without a slash at its end`);
		}
	}
}

/** The manifest of the package in a folder of `packages`, with the addresses that have a name, and without the others. */
export function withAddresses(manifest, folder, { documentation, repository, issues }) {
	const { homepage: _homepage, repository: _repository, bugs: _bugs, ...own } = manifest;
	const { name, version, description, license, ...rest } = own;
	return {
		...{ name, version, description, license },
		...(documentation !== null && { homepage: documentation }),
		...(repository !== null && {
			repository: { type: 'git', url: `git+${repository}.git`, directory: `packages/${folder}` },
		}),
		...(issues !== null && { bugs: { url: issues } }),
		...rest,
	};
}

/** Where errors and help point: below it are the pages of `docs`, by their names. */
export function documentationAt({ documentation, scope }) {
	return documentation ?? `node_modules/${scope}/client/docs`;
}
