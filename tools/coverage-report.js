// What a run with coverage says of each package: how many of the branches its tests have taken, and where most were not.

/** Packages that must have it, and the least share of their branches that tests must take. */
export const PACKAGES = ['protocol', 'balancer', 'discovery', 'client'];
export const BRANCHES_PERCENT_MIN = 95;

/** Files of a package below the limit that are named, those with the most branches not taken first. */
const WORST_FILES_SHOWN = 8;
const LINES_SHOWN = 20;

/**
 * Reads coverage in the form of `coverage-final.json` (Istanbul's): files by path, each with `b`, the times that each way of
 * each branch was taken, and `branchMap`, where it stands. Gives the text to print and whether every package passes.
 */
export function coverageReport(coverage, packages = PACKAGES, percentMin = BRANCHES_PERCENT_MIN) {
	const files = Object.entries(coverage).map(([path, file]) => fileBranches(path.replaceAll('\\', '/'), file));
	const rows = packages.map((name) => packageBranches(name, files));
	const failed = rows.filter(({ total, percent }) => total === 0 || percent < percentMin);
	const table = [
		['package', 'files', 'branches', 'taken', '%'],
		...rows.map((row) => [row.name, row.files.length, row.total, row.taken, row.percent.toFixed(2)]),
	];
	const text = [
		aligned(table),
		...failed.map((row) => failure(row, percentMin)),
		failed.length === 0 ? `all at least ${percentMin} % of branches` : '',
	];
	return { text: text.filter(Boolean).join('\n'), isGood: failed.length === 0 };
}

function fileBranches(path, { b, branchMap }) {
	const lines = [];
	let total = 0;
	for (const [id, counts] of Object.entries(b)) {
		total += counts.length;
		counts.forEach((count, way) => {
			const { loc, locations } = branchMap[id];
			// The way of a missing `else` stands nowhere: its `if` does.
			if (count === 0) lines.push(locations[way]?.start.line ?? loc.start.line);
		});
	}
	return { path, total, taken: total - lines.length, lines: [...new Set(lines)].sort((left, right) => left - right) };
}

function packageBranches(name, all) {
	const files = all.filter(({ path }) => path.includes(`packages/${name}/src/`));
	const total = files.reduce((sum, file) => sum + file.total, 0);
	const taken = files.reduce((sum, file) => sum + file.taken, 0);
	return { name, files, total, taken, percent: total === 0 ? 0 : (100 * taken) / total };
}

function failure({ name, files, total, taken, percent }, percentMin) {
	if (total === 0) return `FAILED: no branch of packages/${name} was seen at all`;
	const needed = Math.ceil((total * percentMin) / 100) - taken;
	const worst = files
		.filter((file) => file.taken < file.total)
		.sort((left, right) => right.total - right.taken - (left.total - left.taken))
		.slice(0, WORST_FILES_SHOWN)
		.map(({ path, total: all, taken: some, lines }) => {
			const short = path.slice(path.indexOf(`packages/${name}/`));
			return `  ${all - some} of ${all} not taken: ${short} at lines ${lines.slice(0, LINES_SHOWN).join(', ')}${lines.length > LINES_SHOWN ? ', …' : ''}`;
		});
	const head = `FAILED: packages/${name} has ${percent.toFixed(2)} % of its branches taken, and needs ${percentMin} %: ${needed} more`;
	return [head, ...worst].join('\n');
}

function aligned(rows) {
	const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => String(row[column]).length)));
	const cell = (value, column) =>
		column === 0 ? String(value).padEnd(widths[column]) : String(value).padStart(widths[column]);
	return rows.map((row) => row.map(cell).join('  ')).join('\n');
}
