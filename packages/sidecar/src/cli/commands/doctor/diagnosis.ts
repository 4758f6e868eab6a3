import { type Cell, type Look, Page, type Style, styled } from '../../output/page.ts';

/** What is checked, in this order: each needs what is before it. */
export const CHECKS = ['socket', 'sidecar', 'registry', 'rights', 'service', 'instances', 'route'] as const;

/** The name of a check. */
export type CheckName = (typeof CHECKS)[number];

/** The result of one check, as `--json` prints it. */
export interface Finding {
	readonly check: CheckName;
	/** `warning`: lookups work, and something needs a look. `not-checked`: a check before it has failed, or no service was named. */
	readonly result: 'ok' | 'warning' | 'failed' | 'not-checked';
	/** What was found. */
	readonly found: string;
	/** What to do; null if nothing. */
	readonly next: string | null;
}

/** All results, as `--json` prints them. */
export interface Diagnosis {
	/** False if a check has failed. */
	readonly ok: boolean;
	/** The address of the sidecar. */
	readonly sidecar: string;
	/** Null if none was named. */
	readonly service: string | null;
	/** One for each check, in their order. */
	readonly checks: readonly Finding[];
}

export function ok(check: CheckName, found: string): Finding {
	return { check, result: 'ok', found, next: null };
}

export function warning(check: CheckName, found: string, next: string): Finding {
	return { check, result: 'warning', found, next };
}

export function failed(check: CheckName, found: string, next: string | null): Finding {
	return { check, result: 'failed', found, next };
}

/** The results of these and all later checks, which make no sense now. */
export function notCheckedFrom(first: CheckName, why: string): Finding[] {
	const names = CHECKS.slice(CHECKS.indexOf(first));
	return names.map((check) => ({ check, result: 'not-checked', found: why, next: null }));
}

const STYLES: Readonly<Record<Finding['result'], Style>> = {
	ok: 'good',
	warning: 'warning',
	failed: 'bad',
	'not-checked': 'dim',
};

/** A page for people: a line for each check, what to do below it, and how it ended. */
export function formatDiagnosis({ checks, sidecar }: Diagnosis, look: Look): Page {
	const rows = checks.flatMap(({ check, result, found, next }): Cell[][] => [
		[check, styled(STYLES[result], result.replace('-', ' ')), result === 'not-checked' ? styled('dim', found) : found],
		...(next === null ? [] : [['', '', [styled('bold', '→ '), next]] as Cell[]]),
	]);
	return new Page(look).table(rows).line().line(summaryOf(checks, sidecar));
}

function summaryOf(checks: readonly Finding[], sidecar: string): string {
	// A sidecar that is not ready is in most cases the effect of what fails after it.
	const cause = checks.find(({ result, check }) => result === 'failed' && check !== 'sidecar');
	const wrong = cause ?? checks.find(({ result }) => result === 'failed');
	if (wrong !== undefined) return `begin with: ${wrong.check}`;
	const odd = checks.find(({ result }) => result === 'warning');
	return odd === undefined
		? `all is well with the sidecar at ${sidecar}`
		: `lookups work; have a look at: ${odd.check}`;
}
