import { hostname } from 'node:os';

import { startFakeConsul } from '@spock/testkit';
import { expect, it } from 'vitest';

import { RawClient } from '../raw-client.ts';
import { namesOf, open, reports, rowOf, SERVICES } from './open-page.ts';
import { ShownSidecar } from './shown-sidecar.ts';

it('says which pod and which registry it is of, in its title too', async () => {
	await using consul = await startFakeConsul();
	await using sidecar = await ShownSidecar.start({}, ['--backend', 'consul', '--consul', consul.url]);
	const { page } = await open(sidecar.url);
	await expect.poll(() => page.locator('#host').textContent()).toBe(hostname());
	expect(await page.locator('#registry').textContent()).toContain(new URL(consul.url).host);
	await expect.poll(() => page.title()).toContain(`${hostname()} – Spock`);
});

it.each(['light', 'dark'] as const)(
	'a sidecar that is lost dims the page and says as of when, %s',
	async (colorScheme) => {
		await using sidecar = await ShownSidecar.start(SERVICES);
		await sidecar.client(Object.keys(SERVICES));
		const { page } = await open(sidecar.url, { colorScheme });
		await rowOf(page, 'barista').waitFor();
		await sidecar.kill();
		await page.getByText(/Connection lost, trying again, as of \d\d:\d\d:\d\d$/).waitFor();
		expect(await page.title()).toMatch(/^as of \d\d:\d\d:\d\d: /);
		const opacity = () => page.evaluate("Number(getComputedStyle(document.querySelector('main')).opacity)");
		expect(await opacity()).toBeLessThan(1);
		await page.screenshot({ path: `${reports}status-page-lost-${colorScheme}.png` });
		await sidecar.restart();
		await page.getByText('Connected', { exact: true }).waitFor();
		expect(await opacity()).toBe(1);
		expect(await page.title()).toBe(`${hostname()} – Spock`);
	},
);

it('a row opens on a click anywhere in it; trouble comes first, and a warning shows', async () => {
	await using sidecar = await ShownSidecar.start(SERVICES);
	await sidecar.client(Object.keys(SERVICES));
	const { page, faults } = await open(sidecar.url);
	await expect.poll(() => namesOf(page)).toEqual(['inventory', 'employee', 'barista']);
	await rowOf(page, 'employee').getByText('1/1 warning').waitFor();
	await rowOf(page, 'barista').locator('td').last().click({ force: true });
	await page.getByRole('table', { name: 'Instances of barista' }).waitFor();
	await page.getByRole('button', { name: 'barista', exact: true }).click();
	expect(await page.locator('.detail').count()).toBe(0);
	expect(faults).toEqual([]);
});

it('finds by name, address, tag, zone and status, and keeps the filter in its address', async () => {
	await using sidecar = await ShownSidecar.start({
		barista: [{ id: 'b1', tags: ['blue'], zone: 'eu-1a' }],
		employee: [{ id: 'e1', status: 'warning' }],
		inventory: [{ id: 'i1', status: 'critical' }],
	});
	await sidecar.client(['barista', 'employee', 'inventory']);
	const { page } = await open(sidecar.url);
	await rowOf(page, 'barista').getByText('eu-1a blue').waitFor();
	for (const [text, name] of [
		['EMPL', 'employee'],
		['10.0.2.1:8000', 'inventory'],
		['blue', 'barista'],
		['eu-1 blue', 'barista'],
		['warning', 'employee'],
	] as const) {
		await page.locator('#filter').fill(text);
		await expect.poll(() => namesOf(page)).toEqual([name]);
	}
	await page.getByLabel('Problems only').check();
	expect(new URL(page.url()).search).toBe('?filter=warning&problems=1');
	await page.reload();
	await expect.poll(() => namesOf(page)).toEqual(['employee']);
	expect(await page.locator('#filter').inputValue()).toBe('warning');
	await page.locator('#filter').press('Escape');
	await expect.poll(() => namesOf(page)).toEqual(['inventory', 'employee']);
	expect(new URL(page.url()).search).toBe('?problems=1');
});

it('first answers are no changes, and what came critical is not shown as good', async () => {
	await using sidecar = await ShownSidecar.start(SERVICES);
	await sidecar.client(Object.keys(SERVICES));
	const { page } = await open(sidecar.url);
	await rowOf(page, 'barista').getByText('2/2').waitFor();
	await page.getByText('Nothing has changed yet.').waitFor();
	sidecar.write({
		...SERVICES,
		barista: [{ id: 'barista-1' }, { id: 'barista-2', weight: 3 }, { id: 'ill', status: 'critical' }],
	});
	const line = page.locator('#changes .diff li');
	await line.getByText(/ill .* critical/).waitFor();
	expect(await line.allTextContents()).toHaveLength(1);
	expect(await line.getAttribute('class')).toBe('bad');
});

it('lists registrations and keys; at 390 px nothing is cut off', async () => {
	const name = 'a-service-whose-name-is-as-long-as-names-of-services-become';
	await using consul = await startFakeConsul();
	consul.set(name, [{ id: 'an-instance-with-a-long-name-1', address: '10.100.200.30', port: 54321 }]);
	await using sidecar = await ShownSidecar.start({}, ['--backend', 'consul', '--consul', consul.url]);
	await sidecar.client([name]);
	await using client = await RawClient.open(sidecar.path);
	await client.ask(1, 'registerService', { service: 'mine', host: '10.0.0.9', port: 8080 });
	await client.ask(2, 'watchKey', { key: 'app/limits' });
	const { page, faults } = await open(sidecar.url, { viewport: { width: 390, height: 1000 } });
	await page.locator('#registrations-list').getByText('mine', { exact: true }).waitFor();
	await page.locator('#keys-list').getByText('app/limits').waitFor();
	await page.getByRole('button', { name, exact: true }).click();
	await page.getByText('10.100.200.30:54321').waitFor();
	await page.screenshot({ path: `${reports}status-page-390-lists.png`, fullPage: true });
	const cut = await page.evaluate(`[...document.querySelectorAll('main *')]
		.filter((node) => node.clientWidth > 1 && node.scrollWidth > node.clientWidth && !node.matches('.bar, .bar *'))
		.filter((node) => getComputedStyle(node).overflowX !== 'visible')
		.map((node) => node.outerHTML.slice(0, 80))`);
	expect(cut).toEqual([]);
	// The instances have the whole width.
	const width = await page.locator('.detail > td').evaluate(({ clientWidth }) => clientWidth);
	expect(width).toBeGreaterThan(300);
	expect(faults).toEqual([]);
});
