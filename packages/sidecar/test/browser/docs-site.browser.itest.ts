import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, posix } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { launchChromium } from './chromium.ts';

const root = fileURLToPath(new URL('../../../../', import.meta.url));
const BUILD_MS_MAX = 300_000;

let directory: string;
let printed: string;
let browser: Browser;

beforeAll(async () => {
	directory = await mkdtemp(join(tmpdir(), 'spock-site-'));
	browser = await launchChromium();
	// Warnings are errors: a link to nowhere is one.
	const typedoc = join(root, 'node_modules/typedoc/bin/typedoc');
	const run = await promisify(execFile)(process.execPath, [typedoc, '--out', directory], { cwd: root });
	printed = run.stdout;
}, BUILD_MS_MAX);

afterAll(async () => {
	await browser?.close();
	await rm(directory, { recursive: true, force: true });
});

describe('the site of the documentation', () => {
	it('leads from its first page to a guide and to a method, which the search finds too', {
		timeout: 120_000,
	}, async () => {
		const page = await browser.newPage();
		const faults: string[] = [];
		page.on('pageerror', (error) => faults.push(error.message));
		await page.goto(pathToFileURL(join(directory, 'index.html')).href);
		await page.getByRole('link', { name: 'The client from A to Z' }).first().click();
		await expect.poll(() => page.getByRole('heading', { name: 'Honest ages' }).count()).toBeGreaterThan(0);
		for (const [words, found] of [
			['getService', /classes\/.*Diplomat.*#getservice/],
			['NO_HEALTHY_INSTANCE', /documents\/.*errors/],
		] as const) {
			await page.locator('#tsd-search-trigger').click();
			await page.locator('#tsd-search-input').fill(words);
			const links = page.locator('#tsd-search-results a');
			const addresses = (): Promise<string[]> =>
				links.evaluateAll((all) => all.map((link) => (link as { href?: string }).href ?? ''));
			await expect.poll(addresses).toContainEqual(expect.stringMatching(found));
			await page.keyboard.press('Escape');
		}
		expect(faults).toEqual([]);
		await page.close();
	});

	it('prints where it is, and lists its pages in the order of docs/README.md', async () => {
		expect(printed).toContain(join(directory, 'index.html'));
		const readme = await readFile(join(root, 'docs/README.md'), 'utf8');
		const linked = [...readme.matchAll(/\]\(([^)#:]+)\.md[)#]/g)].map(([, path = '']) => posix.join('docs', path));
		const wanted = [...new Set(linked)].map((path) => `documents/${path.replaceAll(/[/]/g, '_')}.html`);
		const page = await browser.newPage();
		await page.goto(pathToFileURL(join(directory, 'index.html')).href);
		const links = page.locator('#tsd-nav-container a');
		const shown = (): Promise<string[]> =>
			links.evaluateAll((all) => all.map((link) => (link as { href?: string }).href ?? ''));
		await expect.poll(async () => (await shown()).length).toBeGreaterThan(wanted.length);
		const pages = (await shown()).flatMap((address) => /documents\/[^#]*/.exec(address)?.[0] ?? []);
		expect(pages[0]).toBe('documents/README.html');
		expect(pages.filter((one) => wanted.includes(one))).toEqual(wanted);
		await page.close();
	});

	it('names entries as they are imported, and has a page of every guide', async () => {
		const page = await browser.newPage();
		await page.goto(pathToFileURL(join(directory, 'modules.html')).href);
		const text = (await page.locator('body').textContent()) ?? '';
		expect(text).toContain('@spock/client/events');
		const guides = (await readdir(join(root, 'docs/guide'))).map(
			(name) => `docs_guide_${name.replace('.md', '.html')}`,
		);
		expect(await readdir(join(directory, 'documents'))).toEqual(expect.arrayContaining(guides));
		await page.close();
	});
});
