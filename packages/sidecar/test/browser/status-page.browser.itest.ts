import { startFakeConsul } from '@spock/testkit';
import { expect, it } from 'vitest';

import { RawClient } from '../raw-client.ts';
import { findChromium } from './chromium.ts';
import { namesOf, open, reports, rowOf, SERVICES } from './open-page.ts';
import { ShownSidecar } from './shown-sidecar.ts';

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
	await page.getByRole('tab', { name: 'Clients' }).click();
	await page.locator('#clients-table').getByText(`pid ${client.pid}`).waitFor();
	await page.getByRole('tab', { name: 'Services' }).click();
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

it('the first events come while the scripts of the page do, and are not asked for again', async () => {
	await using sidecar = await ShownSidecar.start(SERVICES);
	await sidecar.client(Object.keys(SERVICES));
	const { page, requested } = await open(sidecar.url);
	const before = requested.length;
	let follow: () => void = () => undefined;
	const asked = new Promise<void>((resolve) => {
		follow = resolve;
	});
	page.on('request', (request) => {
		if (request.url().endsWith('/events')) follow();
	});
	await page.route('**/page/main.js', async (route) => {
		await asked;
		await route.continue();
	});
	await page.reload();
	await rowOf(page, 'barista').getByText('2/2').waitFor();
	await page.getByText('Connected', { exact: true }).waitFor();
	expect(requested.slice(before).filter((url) => url.endsWith('/events'))).toHaveLength(1);
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
	expect(await page.locator('#services-count').textContent()).toBe('1 of 3, 2 with problems');
	await page.keyboard.press('Escape');
	await expect.poll(() => namesOf(page)).toEqual(['inventory', 'employee', 'barista']);
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
	await page.getByText('Connected', { exact: true }).waitFor();
	await sidecar.client(['inventory', 'employee']);
	await expect.poll(() => page.locator('#identity').textContent()).not.toBe(before);
	// What only the old one knew is gone.
	await expect.poll(() => namesOf(page)).toEqual(['inventory', 'employee']);
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
		.getByText(/^Consul at .*ECONNREFUSED/)
		.waitFor();
	await page.locator('#figures', { hasText: 'down' }).waitFor();
	// One change for all services.
	await expect
		.poll(() => page.locator('#changes > li').first().textContent())
		.toMatch(/2 services.*live → last known good/);
	await page.screenshot({ path: `${reports}status-page-outage.png` });
	await consul.listen();
	await rowOf(page, 'barista').getByText('live', { exact: true }).waitFor();
	// A good answer ends what the last bad one said.
	consul.set('barista', [{ id: 'b2', address: '10.0.0.1', port: 80 }]);
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
	await page.getByRole('tab', { name: 'Clients' }).click();
	await page.locator('#clients-table').getByText(evil).waitFor();
	expect(await page.locator('img').count()).toBe(0);
	expect(await page.evaluate('window.isHacked')).toBeUndefined();
	expect(faults).toEqual([]);
});
