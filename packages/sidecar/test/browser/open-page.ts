import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll } from 'vitest';

import { launchChromium } from './chromium.ts';

/** Where screenshots go. */
export const reports: string = fileURLToPath(new URL('../../../../reports/', import.meta.url));

/** What the tests' registries begin with. */
export const SERVICES = {
	barista: [{ id: 'barista-1' }, { id: 'barista-2', weight: 3 }],
	employee: [{ id: 'employee-1', status: 'warning' }],
	inventory: [{ id: 'inventory-1', status: 'critical' }],
} as const;

let browser: Browser;
const pages: Page[] = [];

beforeAll(async () => {
	mkdirSync(reports, { recursive: true });
	browser = await launchChromium();
});

afterAll(() => browser?.close());

afterEach(async () => {
	for (const page of pages.splice(0)) await page.context().close();
});

/** The page in a browser. */
export interface OpenPage {
	readonly page: Page;
	/** What the browser complains of: a breach of the policy is one. */
	readonly faults: readonly string[];
	/** Every address that was asked for. */
	readonly requested: readonly string[];
}

/** Opens the page and waits until it is live; it is closed after the test. */
export async function open(url: string, options: BrowserContextOptions = {}): Promise<OpenPage> {
	const context = await browser.newContext({ viewport: { width: 1440, height: 1000 }, ...options });
	const page = await context.newPage();
	const faults: string[] = [];
	const requested: string[] = [];
	page.on('pageerror', (error) => faults.push(error.message));
	page.on('console', (message) => {
		if (message.type() === 'error' || message.type() === 'warning') faults.push(message.text());
	});
	page.on('request', (request) => requested.push(request.url()));
	pages.push(page);
	await page.goto(url);
	await page.getByText('Connected', { exact: true }).waitFor();
	return { page, faults, requested };
}

/** The row of a service. */
export function rowOf(page: Page, service: string): Locator {
	return page.locator('tr.service', { has: page.getByRole('button', { name: service, exact: true }) });
}

/** The services that are shown, in their order. */
export async function namesOf(page: Page): Promise<string[]> {
	return page.locator('.service .name').allTextContents();
}
