interface Place {
	readonly start: { readonly line?: number };
}

/** A file in `coverage-final.json`. */
interface FileCoverage {
	readonly b: Readonly<Record<string, readonly number[]>>;
	readonly branchMap: Readonly<Record<string, { readonly loc: Place; readonly locations: readonly Place[] }>>;
}

export function coverageReport(
	coverage: Readonly<Record<string, FileCoverage>>,
	packages?: readonly string[],
	percentMin?: number,
): { readonly text: string; readonly isGood: boolean };
