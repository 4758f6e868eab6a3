import { fileURLToPath } from 'node:url';

import { type FakeConsul, findConsul, type RealConsul, startConsul, startFakeConsul } from '@spock/testkit';
import type { Locator, Page } from 'playwright-core';
import { expect, it } from 'vitest';

import { Fleet, type FleetApp } from './fleet.ts';
import { open, reports, rowOf } from './open-page.ts';
import { ShownSidecar } from './shown-sidecar.ts';

/** `npm run suite -- browser --pictures status-page-pictures` draws those of the documentation, over a real Consul. */
const isForDocs = process.env['SPOCK_BROWSER_PICTURES'] === 'true';
const images = isForDocs ? fileURLToPath(new URL('../../../../docs/images/', import.meta.url)) : reports;

const ZONES = ['eu-1a', 'eu-1b', 'eu-1c'];
/** How many instances each has. */
const SERVICES: Readonly<Record<string, number>> = {
	...{ accounts: 3, barista: 4, billing: 5, catalog: 6, inventory: 4, mailer: 5, orders: 7, payments: 3 },
	...{ pricing: 4, reviews: 3, search: 8, shipping: 3 },
};
const NAMES = Object.keys(SERVICES);

const APPS: readonly FleetApp[] = [
	{ name: 'checkout', watches: ['payments', 'pricing', 'orders', 'shipping'], registers: 'checkout', calls: 40 },
	{ name: 'storefront', watches: NAMES, keys: ['storefront/banner', 'app/limits'], registers: 'storefront', calls: 90 },
	{ name: 'till', watches: ['barista', 'payments'], registers: 'till', status: 'critical' },
	{ name: 'reports', library: '@spock/client/0.0.9', watches: ['orders', 'accounts'], heartbeatMs: 500 },
	{
		name: 'orders-api',
		watches: ['inventory', 'pricing', 'mailer'],
		keys: ['app/limits'],
		registers: 'orders-api',
		calls: 25,
	},
	{ name: 'backoffice', watches: ['accounts', 'reviews', 'catalog'], registers: 'backoffice', calls: 4 },
	{ name: 'recommender', library: '@spock/client/0.0.9', watches: ['catalog', 'reviews', 'search'], calls: 12 },
	{ name: 'orders-worker', watches: ['inventory', 'mailer'], registers: 'orders-worker', calls: 8 },
];

/** Sets the instances of a service; those named have another status than passing. */
type SetService = (name: string, statuses?: Readonly<Record<number, 'warning' | 'critical'>>) => Promise<void>;

async function setReal(consul: RealConsul, name: string, statuses: Parameters<SetService>[1] = {}): Promise<void> {
	for (let index = 0; index < (SERVICES[name] ?? 0); index++) {
		await consul.put('/v1/agent/service/register', {
			...{ Name: name, ID: `${name}-${index + 1}`, Address: `10.12.${NAMES.indexOf(name)}.${20 + index}`, Port: 8080 },
			...{ Tags: index === 0 ? ['v2', 'canary'] : ['v1'], Meta: { zone: ZONES[index % ZONES.length] } },
			Check: { CheckID: `${name}-${index + 1}`, Name: 'http', TTL: '1h' },
		});
		// A check that is registered again keeps its status.
		const Status = statuses[index] ?? 'passing';
		await consul.put(`/v1/agent/check/update/${name}-${index + 1}`, {
			Status,
			Output: `HTTP ${Status === 'passing' ? 200 : 503}`,
		});
	}
}

function setFake(consul: FakeConsul, name: string, statuses: Parameters<SetService>[1] = {}): void {
	const instances = Array.from({ length: SERVICES[name] ?? 0 }, (_, index) => ({
		...{ id: `${name}-${index + 1}`, address: `10.12.${NAMES.indexOf(name)}.${20 + index}`, port: 8080 },
		...{ tags: index === 0 ? ['v2', 'canary'] : ['v1'], meta: { zone: ZONES[index % ZONES.length] as string } },
		checks: [{ status: statuses[index] ?? ('passing' as const) }],
	}));
	consul.set(name, instances);
}

async function startRegistry(): Promise<AsyncDisposable & { readonly url: string; readonly set: SetService }> {
	if (!isForDocs) {
		const fake = await startFakeConsul();
		const set: SetService = async (name, statuses) => setFake(fake, name, statuses);
		return { url: fake.url, set, [Symbol.asyncDispose]: () => fake[Symbol.asyncDispose]() };
	}
	const consul = await startConsul({ binary: findConsul(process.env) });
	await consul.put('/v1/kv/app/limits', { max: 5 });
	await consul.put('/v1/kv/storefront/banner', 'spring');
	const set: SetService = (name, statuses) => setReal(consul, name, statuses);
	return { url: consul.url, set, [Symbol.asyncDispose]: () => consul[Symbol.asyncDispose]() };
}

async function draw(page: Page, name: string): Promise<void> {
	await page.mouse.move(0, 0);
	await page.screenshot({ path: `${images}${name}.png` });
	await page.setViewportSize({ width: 390, height: 850 });
	await page.screenshot({ path: `${reports}${name}-390.png`, fullPage: true });
	await page.setViewportSize({ width: 1360, height: 850 });
}

/** The apps call until it shows. */
async function callUntil(fleet: Fleet, rate: Locator): Promise<void> {
	await expect
		.poll(async () => {
			await fleet.call();
			return await rate.textContent();
		})
		.toMatch(/[1-9]\d/);
}

it('shows a fleet at work, in light and in dark', { timeout: 120_000 }, async () => {
	await using registry = await startRegistry();
	for (const name of NAMES) await registry.set(name);
	await using sidecar = await ShownSidecar.start({}, ['--backend', 'consul', '--consul', registry.url]);
	await using fleet = await Fleet.connect(sidecar.path, APPS);
	// Nothing is drawn in the middle of a movement.
	const looks = { viewport: { width: 1360, height: 850 }, reducedMotion: 'reduce' } as const;
	const { page: light, faults } = await open(sidecar.url, { colorScheme: 'light', ...looks });
	const { page: dark } = await open(sidecar.url, { colorScheme: 'dark', ...looks });
	for (const name of ['barista', 'orders', 'inventory']) {
		const count = SERVICES[name];
		await rowOf(light, name).getByText(`${count}/${count}`).waitFor();
	}
	await registry.set('orders', { 3: 'critical' });
	await registry.set('barista', { 2: 'warning' });
	await registry.set('inventory', { 0: 'critical', 1: 'critical', 2: 'critical', 3: 'critical' });
	await rowOf(light, 'inventory').getByText('0/4').waitFor();
	await registry.set('orders');
	await rowOf(light, 'orders').getByText('7/7').waitFor();
	const rates = light.locator('#figures div', { hasText: 'Requests/s' }).locator('dd');
	await callUntil(fleet, rates);
	for (const [page, scheme] of [
		[light, 'light'],
		[dark, 'dark'],
	] as const) {
		await page.getByRole('button', { name: 'barista', exact: true }).click();
		await page.getByRole('row', { name: /barista-3 .* warning/ }).waitFor();
		await fleet.call();
		await draw(page, `status-page-${scheme}`);
		await page.getByRole('tab', { name: 'Clients' }).click();
		await page.getByText('silent', { exact: true }).waitFor();
		await page.getByRole('button', { name: /^storefront/ }).click();
		await page.getByText('Watches 12 services, 2 keys').waitFor();
		await callUntil(fleet, page.locator('.client', { hasText: 'storefront' }).locator('[data-name="Calls/s"]'));
		await draw(page, `status-page-clients-${scheme}`);
	}
	expect(faults).toEqual([]);
});
