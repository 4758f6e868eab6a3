import { join } from 'node:path';

import { type TempSocket, tempSocket } from '@spock/testkit';
import axe from 'axe-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { RawClient } from '../raw-client.ts';
import { open, reports, SERVICES } from './open-page.ts';
import { ShownSidecar } from './shown-sidecar.ts';

let place: TempSocket;
/** What an app may call its group. */
const EVIL = '<img src=x onerror=alert(1)>';

const LAST_AT = 1_800_000_000_000;
const FULL = {
	...{ state: 'blocked', bytes: 268_435_456, bytesMax: 268_435_456, producers: 4096, unstored: 12, damaged: 1 },
	reason:
		'the log is full: it has 268435456 bytes, and may have 268435456; group billing of stream orders has 1250000 events to do: ' +
		'consume them, or skip them with `sidecar events rewind orders billing --to new`',
	streams: [
		{ stream: 'orders', events: 1_250_000, bytes: 260_000_000, lastAt: LAST_AT },
		{ stream: 'orders.dead', events: 17, bytes: 9000, lastAt: LAST_AT },
		{
			stream: 'a-stream-whose-name-is-as-long-as-it-may-be-'.repeat(3).slice(0, 128),
			events: 1,
			bytes: 1,
			lastAt: null,
		},
	],
	groups: [
		{
			...{ stream: 'orders', group: 'billing', lag: 1_250_000, out: 0, backingOff: 0, consumers: 0 },
			oldestUnackedMs: null,
		},
		{ ...{ stream: 'orders', group: 'audit', lag: 3, out: 2, backingOff: 1, consumers: 4 }, oldestUnackedMs: 61_000 },
	],
};

beforeAll(async () => {
	place = await tempSocket();
});

afterAll(() => place?.[Symbol.asyncDispose]());

it('events show as they come: streams, and groups by how much they have to do', async () => {
	await using sidecar = await ShownSidecar.start(SERVICES, ['--events', join(place.directory, 'events')]);
	const { page, faults } = await open(sidecar.url);
	const panel = page.getByRole('region', { name: 'Events', exact: true });
	await panel.getByText('receiving', { exact: true }).waitFor();
	await panel.getByText('No event was published.').waitFor();
	await using client = await RawClient.open(sidecar.path);
	for (let id = 1; id <= 3; id++) await client.ask(id, 'publish', { stream: 'orders', payload: { id } });
	await panel
		.getByRole('table', { name: 'Streams' })
		.getByRole('row', { name: /^orders 3 / })
		.waitFor();
	await client.ask(4, 'openConsumer', { stream: 'orders', group: 'billing', from: 'first' });
	await client.ask(5, 'openConsumer', { stream: 'orders', group: 'audit', from: 'new' });
	const groups = panel.getByRole('table', { name: 'Groups' });
	await groups.getByRole('row', { name: /^billing of orders 3 3 0 1 \d+ s$/ }).waitFor();
	expect(await groups.locator('tbody th').allTextContents()).toEqual(['billing of orders', 'audit of orders']);
	expect(faults).toEqual([]);
});

it('names are shown as they are, and never read as HTML', async () => {
	await using sidecar = await ShownSidecar.start(SERVICES);
	const { page, faults } = await open(sidecar.url);
	await page.route('**/events', (route) => route.abort());
	const shown = await page.evaluate(`import('/page/events.js').then(({ showEvents }) => {
		const name = ${JSON.stringify(EVIL)};
		const group = { stream: name, group: name, lag: 1, out: 0, backingOff: 0, consumers: 0, oldestUnackedMs: null };
		const stream = { stream: name, events: 1, bytes: 1, lastAt: null };
		const log = { state: name, reason: name, bytes: 1, bytesMax: 2, producers: 1, unstored: 0, damaged: 1 };
		showEvents({ ...log, streams: [stream], groups: [group] });
		const panel = document.getElementById('events');
		return [panel.querySelectorAll('img').length, panel.querySelector('#streams-table tbody th').textContent];
	})`);
	expect(shown).toEqual([0, EVIL]);
	expect(faults).toEqual([]);
});

describe.each(['light', 'dark'] as const)('a full log with dead letters, in a %s scheme', (colorScheme) => {
	it.each([
		['wide', 1440],
		['narrow', 390],
	] as const)('%s, breaks no rule of accessibility', async (name, width) => {
		await using sidecar = await ShownSidecar.start(SERVICES, [
			'--events',
			join(place.directory, `${colorScheme}-${name}`),
		]);
		const { page } = await open(sidecar.url, { colorScheme, viewport: { width, height: 1000 } });
		await page.route('**/events', (route) => route.abort());
		await page.evaluate(`import('/page/events.js').then(({ showEvents }) => showEvents(${JSON.stringify(FULL)}))`);
		const panel = page.getByRole('region', { name: 'Events', exact: true });
		await panel.getByText('the log is full').waitFor();
		await panel.screenshot({ path: `${reports}events-panel-${colorScheme}-${name}.png` });
		// However long the name of a stream is, its figures are in view.
		for (const id of ['streams-table', 'groups-table']) {
			const cut = `(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.getElementById('${id}').parentElement)`;
			expect(await page.evaluate(cut)).toBeLessThanOrEqual(0);
		}
		await page.evaluate(axe.source);
		const { violations } = (await page.evaluate('axe.run()')) as axe.AxeResults;
		expect(violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)])).toEqual([]);
		expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
	});
});

it('where events are off there is no panel of them', async () => {
	await using sidecar = await ShownSidecar.start(SERVICES);
	const { page } = await open(sidecar.url);
	await page.getByRole('heading', { name: 'Latency' }).waitFor();
	expect(await page.locator('#events').isVisible()).toBe(false);
});
