// What the long suites share: their own options, and a project of vitest with its report under reports/.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';

import { fail, root, say } from './prepare.js';

/** Takes `--name N`, `--name TEXT` and `--flag` out of the arguments; `rest` is for vitest. Ends the process for a count that is none. */
export function takeOptions(args, { counts = [], texts = [], flags = [] }) {
	const values = {};
	const rest = [];
	for (let at = 0; at < args.length; at++) {
		const name = args[at].replace(/^--/, '');
		if (args[at] === `--${name}` && flags.includes(name)) values[name] = true;
		else if (args[at] === `--${name}` && counts.includes(name)) {
			const count = Number(args[++at]);
			if (!Number.isSafeInteger(count) || count < 1) fail(`--${name} needs a whole number of at least 1`, 2);
			values[name] = count;
		} else if (args[at] === `--${name}` && texts.includes(name)) {
			values[name] = args[++at] ?? fail(`--${name} needs a value`, 2);
		} else rest.push(args[at]);
	}
	return { values, rest };
}

/**
 * Runs one project of vitest, with variables for its tests where they have a value; `within` is a command that runs another
 * one. Gives the exit code.
 */
export function runSuite(project, args, variables = {}, within = []) {
	const reports = join(root, 'reports');
	mkdirSync(reports, { recursive: true });
	const report = process.env.SPOCK_TEST_REPORT || join(reports, `${project}-tests.json`);
	const reporters = ['--reporter=verbose', '--reporter=json', `--outputFile.json=${report}`];
	const given = Object.entries(variables).filter(([, value]) => value !== undefined);
	const env = { ...process.env, ...Object.fromEntries(given.map(([name, value]) => [name, String(value)])) };
	const vitest = join(root, 'node_modules/vitest/vitest.mjs');
	const [program, ...before] = [...within, process.execPath];
	const { status } = spawnSync(program, [...before, vitest, 'run', '--project', project, ...reporters, ...args], {
		cwd: root,
		stdio: 'inherit',
		env,
	});
	return status ?? 1;
}

/** Removes figures of an older run from reports/, which must not look like those of this one. */
export function removeFigures(files) {
	for (const file of files) rmSync(join(root, 'reports', file), { force: true });
}

/** Prints the figures that tests have put into reports/; a file is missing where not all tests were run. */
export function showFigures(files) {
	for (const file of files.map((name) => join(root, 'reports', name)).filter(existsSync)) {
		const figures = JSON.parse(readFileSync(file, 'utf8'));
		say(`${file}\n${inspect(figures, { maxArrayLength: 20, breakLength: 160 })}`);
	}
}
