import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { startFakeConsul } from '@spock/testkit';
import axe from 'axe-core';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

import { RawClient } from '../raw-client.ts';
import { findChromium, launchChromium } from './chromium.ts';
import { ShownSidecar } from './shown-sidecar.ts';

const reports = fileURLToPath(new URL('../../../../reports/', import.meta.url));
const SERVICES = {
	barista: [{ id: 'barista-1' }, { id: 'barista-2', weight: 3 }],
	employee: [{ id: 'employee-1', status: 'warning' }],
	inventory: [{ id: 'inventory-1', status: 'critical' }],
};

let browser: Browser;
const pages: { readonly page: Page; readonly faults: string[] }[] = [];

beforeAll(async () => {
	mkdirSync(reports, { recursive: true });
	browser = await launchChromium();
});

afterAll(() => browser?.close());

afterEach(async () => {
	for (const { page } of pages.splice(0)) await page.context().close();
});

/** Opens the page and waits until it is live. Faults are what the browser complains of: a breach of the policy is one. */
async function open(url: string, options: BrowserContextOptions = {}) {
	const context = await browser.newContext({ viewport: { width: 1440, height: 1000 }, ...options });
	const page = await context.newPage();
	const faults: string[] = [];
	const requested: string[] = [];
	page.on('pageerror', (error) => faults.push(error.message));
	page.on('console', (message) => {
		if (message.type() === 'error' || message.type() === 'warning') faults.push(message.text());
	});
	page.on('request', (request) => requested.push(request.url()));
	pages.push({ page, faults });
	await page.goto(url);
	await page.getByText('Live', { exact: true }).waitFor();
	return { page, faults, requested };
}

function rowOf(page: Page, service: string) {
	return page.locator('tr.service', { has: page.getByRole('button', { name: service, exact: true }) });
}

async function namesOf(page: Page): Promise<string[]> {
	return page.locator('.service .name').allTextContents();
}

it('without a browser the suite fails, and says what to do', () => {
	expect(() => findChromium({ PATH: '/nowhere' })).toThrow('apt-get install chromium, or name one with CHROMIUM_BIN');
});

it('an edit of the registry shows without a reload, in the row, in its instances and in the log of changes', async () => {
	await using sidecar = await ShownSidecar.start(SERVICES);
	const client = await sidecar.client(Object.keys(SERVICES));
	const { page, faults, requested } = await open(sidecar.url);
	await rowOf(page, 'barista').getByText('2/2').waitFor();
	await page.evaluate('window.isSamePage = true');
	await page.getByRole('button', { name: 'barista', exact: true }).click();
	const instances = page.getByRole('table', { name: 'Instances of barista' });
	await instances.getByRole('row', { name: /barista-2 10\.0\.0\.2:8001 passing 3 yes/ }).waitFor();
	await page
		.getByText(/Diplomat \d.*, pid \d+/)
		.first()
		.waitFor();
	await page.locator('#connections-table').getByText(`pid ${client.pid}`).waitFor();
	sidecar.write({ ...SERVICES, barista: [{ id: 'barista-2', weight: 3, status: 'critical' }, { id: 'barista-3' }] });
	await rowOf(page, 'barista').getByText('1/2').waitFor();
	await instances.getByRole('row', { name: /barista-3/ }).waitFor();
	await instances.getByRole('row', { name: /barista-2 .* critical 3 no/ }).waitFor();
	expect(await page.locator('#changes > li').first().locator('.diff li').allTextContents()).toEqual([
		expect.stringContaining('barista-1'),
		expect.stringContaining('barista-2 status passing → critical'),
		expect.stringContaining('barista-3 10.0.0.2:8001 passing'),
	]);
	// Rates and durations are those of the client that goes on asking.
	await page.getByText(/[1-9]\d* requests? in the last/).waitFor();
	await expect
		.poll(() => page.locator('#figures div', { hasText: 'Requests/s' }).locator('dd').textContent())
		.toMatch(/[1-9]/);
	expect(await page.evaluate('window.isSamePage')).toBe(true);
	expect(faults).toEqual([]);
	// With no network: nothing was asked for from anywhere else.
	expect(requested.filter((url) => !url.startsWith(sidecar.url))).toEqual([]);
});

it('the keyboard does everything: filter, clear, expand, sort', async () => {
	await using sidecar = await ShownSidecar.start(SERVICES);
	await sidecar.client(Object.keys(SERVICES));
	const { page } = await open(sidecar.url, { reducedMotion: 'reduce' });
	await rowOf(page, 'inventory').waitFor();
	// Nothing moves for who does not want that.
	expect(
		await page.evaluate("getComputedStyle(document.querySelector('.expander'), '::before').transitionDuration"),
	).toBe('0s');
	const focused = () =>
		page.evaluate('document.activeElement.textContent || document.activeElement.id') as Promise<string>;
	await page.keyboard.press('Tab');
	expect(await focused()).toBe('Skip to the services');
	await page.keyboard.press('/');
	await page.keyboard.type('EMP');
	await expect.poll(() => namesOf(page)).toEqual(['employee']);
	expect(await page.locator('#services-count').textContent()).toBe('1 of 3, 1 with problems');
	expect(await page.locator('#changes .name').allTextContents()).toEqual(['employee']);
	await page.keyboard.press('Escape');
	await expect.poll(() => namesOf(page)).toEqual(['barista', 'employee', 'inventory']);
	// The columns come after the filter, then the rows.
	for (let count = 0; count < 6; count++) await page.keyboard.press('Tab');
	expect(await focused()).toBe('Revision');
	await page.keyboard.press('Shift+Tab');
	await page.keyboard.press('Shift+Tab');
	await page.keyboard.press('Shift+Tab');
	await page.keyboard.press('Shift+Tab');
	expect(await focused()).toBe('Healthy');
	await page.keyboard.press('Enter');
	await expect.poll(() => namesOf(page)).toEqual(['inventory', 'barista', 'employee']);
	expect(await page.getByRole('columnheader', { name: 'Healthy' }).getAttribute('aria-sort')).toBe('ascending');
	await page.keyboard.press('Space');
	await expect.poll(() => namesOf(page)).toEqual(['barista', 'employee', 'inventory']);
	await page.keyboard.press('Space');
	await expect.poll(() => namesOf(page)).toEqual(['inventory', 'barista', 'employee']);
	const expander = page.getByRole('button', { name: 'employee', exact: true });
	await expander.focus();
	await page.keyboard.press('Enter');
	expect(await expander.getAttribute('aria-expanded')).toBe('true');
	await page.getByRole('row', { name: /employee-1 .* warning/ }).waitFor();
	// What has the focus keeps it while its row moves.
	sidecar.write({ ...SERVICES, employee: [{ id: 'employee-1', status: 'critical' }] });
	await expect.poll(() => namesOf(page)).toEqual(['employee', 'inventory', 'barista']);
	expect(await focused()).toBe('employee');
	await page.keyboard.press('Enter');
	expect(await expander.getAttribute('aria-expanded')).toBe('false');
	await page.getByLabel('Problems only').check();
	await expect.poll(() => namesOf(page)).toEqual(['employee', 'inventory']);
});

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

it('comes back by itself when the sidecar does', async () => {
	await using sidecar = await ShownSidecar.start({ ...SERVICES, gone: [{ id: 'g' }] });
	const client = await sidecar.client([...Object.keys(SERVICES), 'gone']);
	const { page } = await open(sidecar.url);
	await rowOf(page, 'gone').waitFor();
	const before = await page.locator('#identity').textContent();
	await page.locator('#filter').fill('o');
	await sidecar.kill();
	await client[Symbol.asyncDispose]();
	await page.getByText('Connection lost, trying again').waitFor();
	sidecar.write(SERVICES);
	await sidecar.restart();
	await page.getByText('Live', { exact: true }).waitFor();
	await sidecar.client(['inventory', 'employee']);
	await expect.poll(() => page.locator('#identity').textContent()).not.toBe(before);
	// What only the old one knew is gone.
	await expect.poll(() => namesOf(page)).toEqual(['employee', 'inventory']);
	expect(await page.locator('#filter').inputValue()).toBe('o');
});

it('an outage of the registry shows: since when each answer is the last known one, and why', async () => {
	await using consul = await startFakeConsul();
	consul.set('barista', [{ id: 'b1', address: '10.0.0.1', port: 80 }]);
	consul.set('employee', [{ id: 'e1', address: '10.0.0.2', port: 80 }]);
	await using sidecar = await ShownSidecar.start({}, ['--backend', 'consul', '--consul', consul.url]);
	await sidecar.client(['barista', 'employee']);
	const { page, faults } = await open(sidecar.url);
	await rowOf(page, 'barista').getByText('live', { exact: true }).waitFor();
	await consul.stop();
	await rowOf(page, 'barista')
		.getByText(/^last known, \d+ s$/)
		.waitFor();
	await rowOf(page, 'employee')
		.getByText(/^last known, \d+ s$/)
		.waitFor();
	await page
		.locator('#notices')
		.getByText(/consul: .*ECONNREFUSED/)
		.waitFor();
	await page.locator('#figures', { hasText: 'down' }).waitFor();
	// One change for all services.
	await expect
		.poll(() => page.locator('#changes > li').first().textContent())
		.toMatch(/2 services.*live → last known good/);
	await page.screenshot({ path: `${reports}status-page-outage.png` });
	await consul.listen();
	await rowOf(page, 'barista').getByText('live', { exact: true }).waitFor();
	await expect.poll(() => page.locator('#notices').textContent()).toBe('');
	expect(faults).toEqual([]);
});

it('what clients and registries call themselves is text, and never markup', async () => {
	const evil = '<img src=x onerror="window.isHacked=true">';
	await using sidecar = await ShownSidecar.start({ [evil]: [{ id: evil }] });
	await using client = await RawClient.open(sidecar.path);
	await client.ask(1, 'hello', { versions: [1], client: evil });
	await client.ask(2, 'watchService', { service: evil });
	const { page, faults } = await open(sidecar.url);
	await page.getByRole('button', { name: evil }).click();
	await page.getByRole('table', { name: `Instances of ${evil}` }).waitFor();
	await page.locator('#connections-table').getByText(evil).waitFor();
	expect(await page.locator('img').count()).toBe(0);
	expect(await page.evaluate('window.isHacked')).toBeUndefined();
	expect(faults).toEqual([]);
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
