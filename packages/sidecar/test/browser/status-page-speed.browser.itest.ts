import { writeFileSync } from 'node:fs';

import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';

import { namesOf, open, reports } from './open-page.ts';
import { pageFiles, servePage } from './page-server.ts';
import { ShownSidecar } from './shown-sidecar.ts';

const ROUNDS = 20;
const SERVICES = 500;
const ROWS = 100;

/** From the beginning of the navigation to the frame after the first rows. */
const MEASURE = `new MutationObserver((_, observer) => {
	if (document.querySelectorAll('.service').length < ${ROWS}) return;
	observer.disconnect();
	requestAnimationFrame(() => setTimeout(() => { window.shownMs = performance.now(); }));
}).observe(document, { childList: true, subtree: true })`;

/** Of one load, in milliseconds: until the rows are shown, and what scripts, styles and layout took of it. */
type Load = Readonly<Record<'shown' | 'script' | 'style' | 'layout', number>>;

/** Loads the page again and again; the browser's own counters say where the time goes. */
async function loader(page: Page): Promise<() => Promise<Load>> {
	const session = await page.context().newCDPSession(page);
	await session.send('Performance.enable');
	await page.addInitScript(MEASURE);
	return async () => {
		await page.reload();
		const shown = Number(await (await page.waitForFunction('window.shownMs')).jsonValue());
		const { metrics } = await session.send('Performance.getMetrics');
		const ms = (name: string): number => 1000 * (metrics.find((metric) => metric.name === name)?.value ?? Number.NaN);
		return { shown, script: ms('ScriptDuration'), style: ms('RecalcStyleDuration'), layout: ms('LayoutDuration') };
	};
}

/** The median of each, and the fastest: the machine may be busy. */
function summary(loads: readonly Load[]): Readonly<Record<string, number>> {
	const sorted = (name: keyof Load): number[] =>
		loads.map((load) => load[name]).toSorted((left, right) => left - right);
	const names = ['shown', 'script', 'style', 'layout'] as const;
	const medians = names.map((name) => [`${name}Ms`, Math.round(sorted(name)[loads.length >> 1] ?? 0)]);
	return { ...Object.fromEntries(medians), fastestMs: Math.round(sorted('shown')[0] ?? 0) };
}

/** `npm run suite -- browser --against COMMIT status-page-speed` compares with the page of a commit, turn by turn. */
it('of 500 services the worst 100 are shown at once, as fast as they are drawn', { timeout: 120_000 }, async () => {
	const names = Array.from({ length: SERVICES }, (_, index) => `service-${index}`);
	const all = names.map((name, index) => {
		const status = index === SERVICES - 1 ? { status: 'critical' } : {};
		return [name, [0, 1, 2].map((one) => ({ id: `${name}-${one}`, tags: ['v1'], zone: 'eu-1a', ...status }))] as const;
	});
	const against = process.env['SPOCK_BROWSER_AGAINST'];
	await using sidecar = await ShownSidecar.start(Object.fromEntries(all));
	await sidecar.client(names);
	// Both are served in the same way, so that the way is not compared.
	await using present = await servePage(pageFiles(), sidecar.url);
	await using past = await servePage(pageFiles(against), sidecar.url);
	const { page } = await open(present.url);
	const { page: other } = await open(past.url);
	const loads = [await loader(page), await loader(other)] as const;
	const now: Load[] = [];
	const before: Load[] = [];
	for (let round = 0; round < ROUNDS; round++) {
		now.push(await loads[0]());
		if (against) before.push(await loads[1]());
	}
	const compared = against && { against, before: summary(before) };
	const figures = { services: SERVICES, rounds: ROUNDS, now: summary(now), ...compared };
	writeFileSync(`${reports}browser.json`, `${JSON.stringify(figures)}\n`);
	process.stdout.write(`${JSON.stringify(figures)}\n`);
	expect(await namesOf(page)).toHaveLength(ROWS);
	expect((await namesOf(page))[0]).toBe(`service-${SERVICES - 1}`);
});
