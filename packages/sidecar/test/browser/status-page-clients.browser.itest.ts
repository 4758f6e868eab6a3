import axe from 'axe-core';
import type { Locator, Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';

import type { StatusView } from '../../src/admin/status-view.ts';
import { RawClient } from '../raw-client.ts';
import { Fleet, type FleetApp } from './fleet.ts';
import { open, reports, SERVICES } from './open-page.ts';
import { ShownSidecar } from './shown-sidecar.ts';

const APPS: readonly FleetApp[] = [
	{ name: 'orders-api', watches: ['barista', 'employee'], calls: 2 },
	{ name: 'till', watches: ['barista'], registers: 'till', status: 'critical' },
	{ name: 'mailer', library: '@spock/client/0.0.9', heartbeatMs: 500 },
	{ name: 'billing', watches: ['inventory'], keys: ['app/limits'], registers: 'billing' },
];

/** A sidecar with a fleet. */
async function startFleet(apps: readonly FleetApp[] = APPS) {
	const sidecar = await ShownSidecar.start(SERVICES);
	const fleet = await Fleet.connect(sidecar.path, apps);
	return {
		sidecar,
		fleet,
		async [Symbol.asyncDispose](): Promise<void> {
			for (const one of [fleet, sidecar]) await one[Symbol.asyncDispose]();
		},
	};
}

function clientsOf(page: Page): Promise<string[]> {
	return page.locator('.client .name').allTextContents();
}

function clientRow(page: Page, name: string): Locator {
	return page.locator('tr.client', { has: page.getByRole('button', { name: new RegExp(`^${name}`) }) });
}

it('lists the clients, trouble first, with what each watches and has registered', async () => {
	await using shown = await startFleet();
	const { page, faults } = await open(shown.sidecar.url);
	await page.getByRole('tab', { name: 'Clients' }).click();
	await clientRow(page, 'mailer').getByText('silent', { exact: true }).waitFor();
	await expect.poll(() => clientsOf(page)).toEqual(['mailer', 'till', 'billing', 'orders-api']);
	await clientRow(page, 'till').getByText('reports critical').waitFor();
	expect(await clientRow(page, 'billing').locator('td').allTextContents()).toEqual([
		...['fine', '1', '1', 'billing'],
		expect.stringMatching(/^[–\d]/),
		'–',
		expect.stringMatching(/ s$/),
	]);
	await page.getByText('Libraries: Diplomat 0.1.0 × 3, Diplomat 0.0.9 × 1').waitFor();
	expect(await page.locator('#clients-count').textContent()).toBe('4 clients, 2 with problems');
	await clientRow(page, 'orders-api').locator('td').last().click();
	const detail = page.locator('.client.open + .detail');
	await detail.getByText('Watches 2 services, 0 keys').waitFor();
	await detail.getByText(/^barista 2\/2$/).waitFor();
	await detail.getByText('It has registered nothing').waitFor();
	// What it subscribes to later appears while the row is open.
	await shown.fleet.clients[0]?.ask(50, 'watchService', { service: 'inventory' });
	await detail.getByText('Watches 3 services, 0 keys').waitFor();
	// So does the health of a service.
	shown.sidecar.write({ ...SERVICES, barista: [{ id: 'barista-1' }, { id: 'barista-2', status: 'critical' }] });
	await detail.getByText(/^barista 1\/2$/).waitFor();
	// From a client to a service, and from there to those that watch it.
	await detail.getByRole('link', { name: 'barista' }).click();
	await page.getByRole('button', { name: 'barista', exact: true }).click();
	const watchers = page.locator('.service.open + .detail .watchers li');
	await watchers.filter({ hasText: /orders-api.*, pushed 1 whole, 0 deltas, 0 in parts/ }).waitFor();
	await watchers.getByRole('link', { name: 'orders-api' }).click();
	await expect.poll(() => clientsOf(page)).toEqual(['orders-api']);
	expect(faults).toEqual([]);
});

it('an open client shows a service that replaces another, also after an answer was lost', async () => {
	await using shown = await startFleet();
	const { page } = await open(`${shown.sidecar.url}?view=clients`);
	await clientRow(page, 'orders-api').locator('td').last().click();
	const detail = page.locator('.client.open + .detail');
	await detail.getByText(/^employee /).waitFor();
	let lost = 0;
	await page.route(/client\.json/, async (route) => (lost++ === 0 ? route.abort() : route.continue()));
	const [client] = shown.fleet.clients;
	await client?.ask(50, 'unwatchService', { service: 'employee' });
	await client?.ask(51, 'watchService', { service: 'inventory' });
	await expect
		.poll(async () => {
			// Each call is a new state of the client.
			await shown.fleet.call();
			return detail.getByRole('link').allTextContents();
		})
		.toEqual(expect.arrayContaining([expect.stringMatching(/^inventory/)]));
	expect([lost > 1, await detail.getByText('Watches 2 services, 0 keys').count()]).toEqual([true, 1]);
	expect(await detail.getByText(/^employee /).count()).toBe(0);
});

it('the view, the filter and the problems are kept in the address; arrows move between the tabs', async () => {
	await using shown = await startFleet();
	const { page } = await open(`${shown.sidecar.url}?view=clients`);
	await expect.poll(() => clientsOf(page)).toHaveLength(4);
	for (const [text, names] of [
		['ORDERS', ['orders-api']],
		['pid 4701', ['till']],
		['0.0.9', ['mailer']],
		['billing-4', ['billing']],
		['silent', ['mailer']],
	] as const) {
		await page.locator('#filter').fill(text);
		await expect.poll(() => clientsOf(page)).toEqual(names);
	}
	expect(new URL(page.url()).search).toBe('?view=clients&filter=silent');
	await page.reload();
	await expect.poll(() => clientsOf(page)).toEqual(['mailer']);
	await page.locator('#filter').press('Escape');
	await page.getByLabel('Problems only').check();
	await expect.poll(() => clientsOf(page)).toEqual(['mailer', 'till']);
	await page.getByRole('tab', { name: 'Clients' }).press('ArrowLeft');
	expect(await page.getByRole('tab', { name: 'Services' }).getAttribute('aria-selected')).toBe('true');
	await page.locator('#services-table').waitFor();
	expect(new URL(page.url()).search).toBe('?problems=1');
	// Behind the other tab it still shows that some clients have problems.
	expect(await page.getByRole('tab', { name: 'Clients 2 with problems' }).count()).toBe(1);
});

it('sorts by a column: who calls most', async () => {
	await using shown = await startFleet([...APPS, { name: 'loud', watches: ['barista'], calls: 200 }]);
	const { page } = await open(`${shown.sidecar.url}?view=clients`);
	await page.getByRole('button', { name: 'Calls/s' }).click();
	await expect
		.poll(async () => {
			await shown.fleet.call();
			return (await clientsOf(page))[0];
		})
		.toBe('loud');
});

it('scripts read the same as JSON, and one client with what it subscribes to', async () => {
	await using shown = await startFleet();
	const read = async <T>(path: string): Promise<T> => (await (await fetch(`${shown.sidecar.url}${path}`)).json()) as T;
	const { connections } = await read<StatusView>('status.json');
	expect(connections).toMatchObject({ count: 4, grpc: 0 });
	const billing = connections.rows.find(({ client }) => client === 'billing');
	expect(billing).toMatchObject({
		...{ library: '@spock/client/0.1.0', pid: 4703, transport: 'unix', address: null, certificate: null },
		...{ services: 1, keys: 1, problems: [] },
		registered: [{ id: 'billing-4', service: 'billing', state: 'registered', status: 'passing' }],
	});
	expect(await read(`client.json?id=${billing?.id}`)).toMatchObject({
		services: [{ service: 'inventory', instances: 1, healthy: 0 }],
		keys: [{ key: 'app/limits' }],
	});
	expect((await fetch(`${shown.sidecar.url}client.json?id=77`)).status).toBe(404);
});

it('of very many clients the first 200 are listed, 50 at once, and the others are counted', async () => {
	const apps = Array.from({ length: 230 }, (_, index) => ({ name: `app-${index}` }));
	await using shown = await startFleet(apps);
	const { page } = await open(`${shown.sidecar.url}?view=clients`);
	await page.getByText('and 30 more, without problems or less busy').waitFor();
	expect(await clientsOf(page)).toHaveLength(50);
	await page.getByRole('button', { name: 'Show 50 more of 200 clients' }).click();
	await expect.poll(() => clientsOf(page)).toHaveLength(100);
});

describe.each(['light', 'dark'] as const)('in a %s scheme', (colorScheme) => {
	it.each([
		['wide', 1440],
		['narrow', 390],
	] as const)(
		'%s, with a row open, the clients break no rule of accessibility, and nothing is cut off',
		async (name, width) => {
			const long = 'an-app-whose-name-is-as-long-as-names-of-packages-become-in-a-large-company';
			await using shown = await startFleet([
				...APPS,
				{ name: long, registers: 'a-service-with-a-long-name-of-its-own' },
			]);
			await using _stranger = await RawClient.open(shown.sidecar.path);
			const { page } = await open(`${shown.sidecar.url}?view=clients`, {
				colorScheme,
				viewport: { width, height: 1000 },
			});
			await clientRow(page, 'mailer').getByText('silent', { exact: true }).waitFor();
			await clientRow(page, 'billing').click();
			await page.getByText('key app/limits').waitFor();
			await page.screenshot({ path: `${reports}clients-${colorScheme}-${name}.png`, fullPage: true });
			await page.evaluate(axe.source);
			const { violations } = (await page.evaluate('axe.run()')) as axe.AxeResults;
			expect(violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)])).toEqual([]);
			expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
			if (name === 'wide') return;
			const cut = await page.evaluate(`[...document.querySelectorAll('#clients-panel *')]
			.filter((node) => node.clientWidth > 1 && node.scrollWidth > node.clientWidth && !node.closest('thead'))
			.map((node) => node.outerHTML.slice(0, 80))`);
			expect(cut).toEqual([]);
		},
	);
});
