import { type FakeConsul, startFakeConsul } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { namesOf, open, reports, rowOf } from './open-page.ts';
import { ShownSidecar } from './shown-sidecar.ts';

/** 34 services, of which the last two by name have a problem of their own. */
const FINE = Array.from({ length: 32 }, (_, index) => `app-${String(index).padStart(2, '0')}-with-a-longer-name`);

function fill(consul: FakeConsul): readonly string[] {
	const instance = (id: string, status: 'passing' | 'critical' = 'passing') => ({ id, checks: [{ status }] });
	for (const name of FINE) consul.set(name, [instance(`${name}-1`), instance(`${name}-2`)]);
	consul.set('consumer', [instance('consumer-1')]);
	consul.set('greeter', [instance('greeter-1')]);
	consul.set('yonder', [instance('yonder-1'), instance('yonder-2', 'critical')]);
	consul.set('zebra', [instance('zebra-1', 'critical')]);
	return [...FINE, 'consumer', 'greeter', 'yonder', 'zebra'];
}

/** What is wider than its place and cut off there. */
const CUT = `[...document.querySelectorAll('main *, header *')]
	.filter((node) => node.clientWidth > 1 && node.scrollWidth > node.clientWidth && !node.matches('.bar, .bar *'))
	.filter((node) => getComputedStyle(node).overflowX !== 'visible')
	.map((node) => node.outerHTML.slice(0, 80))`;

describe.each([
	['light', 1280],
	['dark', 1280],
	['light', 390],
	['dark', 390],
] as const)('%s, %i px', (colorScheme, width) => {
	it('while the registry is down, what apps get is shown once, and the worst service first', async () => {
		const consul = await startFakeConsul();
		const names = fill(consul);
		await using sidecar = await ShownSidecar.start({}, ['--backend', 'consul', '--consul', consul.url]);
		await sidecar.client(names);
		const { page, faults } = await open(sidecar.url, { colorScheme, viewport: { width, height: 900 } });
		await rowOf(page, 'zebra').getByText('0/1').waitFor();
		await page.screenshot({ path: `${reports}outage-before-${colorScheme}-${width}.png` });
		expect(await page.evaluate(CUT)).toEqual([]);
		await consul[Symbol.asyncDispose]();
		await page.locator('#figures').getByText('down').waitFor();
		const count = page.locator('#services-count');
		await expect.poll(() => page.locator('.service').getByText('last known').count()).toBe(names.length);
		await page.screenshot({ path: `${reports}outage-${colorScheme}-${width}.png`, fullPage: width < 640 });
		expect(await namesOf(page)).toEqual(['zebra', 'yonder', ...FINE, 'consumer', 'greeter']);
		expect(await count.textContent()).toBe('36 services, 2 with problems');
		// A connection that was cut off has another error until it is made anew.
		const notices = page.locator('#notices li');
		await expect
			.poll(() => notices.allTextContents())
			.toEqual([
				expect.stringMatching(/^consul has not answered since \d\d:\d\d:\d\d: apps get the last known answers$/),
				expect.stringContaining('ECONNREFUSED'),
			]);
		await expect.poll(async () => (await page.content()).split('Consul at').length - 1).toBe(1);
		const phase = page.locator('#phase');
		expect([await phase.textContent(), await phase.getAttribute('class')]).toEqual([
			'serving, registry down',
			'tag warn',
		]);
		expect(await page.title()).toContain('registry down: ');
		expect(await page.evaluate(CUT)).toEqual([]);
		expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
		// A name has one line.
		const heights = await page
			.locator('.service .name')
			.evaluateAll((all) => all.map((one) => one.getClientRects().length));
		expect(new Set(heights)).toEqual(new Set([1]));
		const { height } = (await rowOf(page, 'consumer').locator('.name').boundingBox()) ?? { height: 0 };
		expect(height).toBeLessThan(25);
		await page.getByRole('tab', { name: 'Clients' }).click();
		await page.locator('.client .state').waitFor();
		expect(await page.evaluate(CUT)).toEqual([]);
		expect(faults).toEqual([]);
	});
});
