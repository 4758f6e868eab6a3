import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { type ProcessResult, spawnProcess } from '@spock/testkit';
import { describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';

import { scrapeUnderLoad } from './scraped-sidecar.ts';

const directory = fileURLToPath(new URL('../../../k8s/', import.meta.url));

/** Runs promtool, which is Prometheus' own judge of metrics and rules. */
async function promtool(args: readonly string[], input = ''): Promise<ProcessResult> {
	await using process = spawnProcess('promtool', args, { input });
	try {
		return await process.finished;
	} catch (error) {
		const what =
			'promtool is needed for this test: apt-get install --no-install-recommends prometheus (Debian, Ubuntu)';
		throw new Error(what, { cause: error });
	}
}

describe('promtool', () => {
	it('finds no fault with a scrape of a real sidecar under load', async () => {
		const { text } = await scrapeUnderLoad();
		expect(await promtool(['check', 'metrics'], text)).toMatchObject({ exitCode: 0, stdout: '', stderr: '' });
	});

	it('finds fault with a scrape that has one', async () => {
		const text = '# HELP spock_things_total Things\n# TYPE spock_things_total gauge\nspock_things_total 1\n';
		expect(await promtool(['check', 'metrics'], text)).toMatchObject({ exitCode: 3 });
	});

	it('finds no fault with the rules of the alerts', async () => {
		expect(await promtool(['check', 'rules', join(directory, 'prometheus/alerts.yaml')])).toMatchObject({
			exitCode: 0,
		});
	});

	it('sees every alert fire when it should, and stay quiet when it should not', async () => {
		const file = join(directory, 'prometheus/alerts.test.yaml');
		const { exitCode, stdout, stderr } = await promtool(['test', 'rules', file]);
		expect(exitCode, stdout + stderr).toBe(0);
	});

	it('understands every expression of the dashboard', async () => {
		const dashboard = JSON.parse(readFileSync(join(directory, 'grafana/spock.json'), 'utf8'));
		const expressions: string[] = dashboard.panels.flatMap(({ targets = [] }: { targets?: { expr: string }[] }) =>
			targets.map(({ expr }) => expr.replaceAll('$__rate_interval', '5m')),
		);
		const rules = expressions.map((expr, index) => ({ record: `panel:${index}`, expr }));
		const place = mkdtempSync(join(tmpdir(), 'spock-dashboard-'));
		try {
			const file = join(place, 'rules.yaml');
			writeFileSync(file, stringify({ groups: [{ name: 'dashboard', rules }] }));
			const { exitCode, stdout, stderr } = await promtool(['check', 'rules', file]);
			expect(exitCode, stdout + stderr).toBe(0);
			expect(stdout).toContain(`${expressions.length} rules found`);
		} finally {
			rmSync(place, { recursive: true });
		}
	});
});

interface Rule {
	readonly alert: string;
	readonly for?: string;
}

it('there is a test of each alert that it fires, that it does not before its time, and that it does not', () => {
	const { groups } = parse(readFileSync(join(directory, 'prometheus/alerts.yaml'), 'utf8'));
	const rules: Rule[] = groups.flatMap((group: { rules: Rule[] }) => group.rules);
	const { tests } = parse(readFileSync(join(directory, 'prometheus/alerts.test.yaml'), 'utf8'));
	const tested: string[] = tests.flatMap(({ alert_rule_test: cases }: { alert_rule_test: Case[] }) => {
		const isQuiet = cases.every(({ exp_alerts: expected }) => expected.length === 0);
		const what = isQuiet ? 'is quiet' : cases.length > 1 ? 'waits and fires' : 'fires';
		return `${cases[0]?.alertname} ${what}`;
	});
	const wanted = rules.flatMap((rule) => [
		`${rule.alert} ${rule.for === undefined ? 'fires' : 'waits and fires'}`,
		`${rule.alert} is quiet`,
	]);
	expect(tested).toEqual(wanted);
});

interface Case {
	readonly alertname: string;
	readonly exp_alerts: readonly unknown[];
}
