import axe from 'axe-core';
import { describe, expect, it } from 'vitest';

import { RawClient } from '../raw-client.ts';
import { namesOf, open, reports, rowOf, SERVICES } from './open-page.ts';
import { ShownSidecar } from './shown-sidecar.ts';

describe.each(['light', 'dark'] as const)('in a %s scheme', (colorScheme) => {
	it.each([
		['wide', 1440],
		['narrow', 390],
	] as const)('%s, no rule of accessibility is broken', async (name, width) => {
		await using sidecar = await ShownSidecar.start(SERVICES);
		await sidecar.client([...Object.keys(SERVICES), 'barista']);
		await using _stranger = await RawClient.open(sidecar.path);
		const { page } = await open(sidecar.url, { colorScheme, viewport: { width, height: 1000 } });
		await page.getByRole('button', { name: 'inventory', exact: true }).click();
		await page.getByRole('row', { name: /inventory-1/ }).waitFor();
		await page.getByText('As a table').click();
		await page.screenshot({ path: `${reports}status-page-${colorScheme}-${name}.png`, fullPage: name === 'narrow' });
		await page.evaluate(axe.source);
		const { violations, passes } = (await page.evaluate('axe.run()')) as axe.AxeResults;
		expect(violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)])).toEqual([]);
		expect(passes.map(({ id }) => id)).toContain('color-contrast');
		// Nothing is wider than the window.
		expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
		const ground = await page.evaluate('getComputedStyle(document.body).backgroundColor');
		expect(ground).toBe(colorScheme === 'light' ? 'rgb(246, 246, 244)' : 'rgb(15, 17, 19)');
	});
});

it('a thousand services of twenty instances stay usable: few are drawn, any is found', async () => {
	const names = Array.from({ length: 1000 }, (_, index) => `service-${String(index).padStart(4, '0')}`);
	const services = (status: string) =>
		Object.fromEntries(
			names.map((name) => [
				name,
				Array.from({ length: 20 }, (_, index) => ({ id: `${name}-${index}`, ...(index === 0 && { status }) })),
			]),
		);
	await using sidecar = await ShownSidecar.start(services('passing'));
	await sidecar.client(names);
	const startedMs = performance.now();
	const { page, faults } = await open(sidecar.url);
	await rowOf(page, 'service-0000').waitFor();
	const openMs = performance.now() - startedMs;
	expect(await page.locator('.service').count()).toBe(100);
	await page.getByRole('button', { name: 'Show 100 more of 1000 services' }).click();
	await expect.poll(() => page.locator('.service').count()).toBe(200);
	await page.locator('#filter').fill('0999');
	await expect.poll(() => namesOf(page)).toEqual(['service-0999']);
	await page.locator('#filter').fill('');
	await page.screenshot({ path: `${reports}status-page-1000.png` });
	const filterMs = await page.evaluate(TIME_FILTER);
	// Every service changes at once.
	await page.evaluate(OBSERVE_LONG_TASKS);
	sidecar.write(services('critical'));
	await rowOf(page, 'service-0000').getByText('19/20').waitFor();
	await rowOf(page, 'service-0099').getByText('19/20').waitFor();
	expect(await page.locator('.service').count()).toBe(100);
	const nodes = (await page.evaluate('document.querySelectorAll("*").length')) as number;
	expect(nodes).toBeLessThan(5000);
	const longestTaskMs = await page.evaluate('Math.max(0, ...window.longTasks)');
	process.stdout.write(
		`1000 services x 20: open ${openMs.toFixed(0)} ms, filter ${Number(filterMs).toFixed(1)} ms, ` +
			`longest task while all change ${String(longestTaskMs)} ms, ${nodes} elements\n`,
	);
	expect(faults).toEqual([]);
});

/** How long the page is busy with a letter in the filter, with its layout. */
const TIME_FILTER = `(() => {
	const filter = document.getElementById('filter');
	const startedMs = performance.now();
	filter.value = '5';
	filter.dispatchEvent(new Event('input'));
	void document.body.offsetHeight;
	const tookMs = performance.now() - startedMs;
	filter.value = '';
	filter.dispatchEvent(new Event('input'));
	return tookMs;
})()`;

const OBSERVE_LONG_TASKS = `
	window.longTasks = [];
	new PerformanceObserver((list) => window.longTasks.push(...list.getEntries().map(({ duration }) => duration)))
		.observe({ type: 'longtask' });
`;
