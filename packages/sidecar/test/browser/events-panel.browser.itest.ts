import { join } from 'node:path';

import { type TempSocket, tempSocket } from '@spock/testkit';
import { afterAll, beforeAll, expect, it } from 'vitest';

import { RawClient } from '../raw-client.ts';
import { open, SERVICES } from './open-page.ts';
import { ShownSidecar } from './shown-sidecar.ts';

let place: TempSocket;
/** What an app may call its group. */
const EVIL = '<img src=x onerror=alert(1)>';

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

it('where events are off there is no panel of them', async () => {
	await using sidecar = await ShownSidecar.start(SERVICES);
	const { page } = await open(sidecar.url);
	await page.getByRole('heading', { name: 'Connections' }).waitFor();
	expect(await page.locator('#events').isVisible()).toBe(false);
});
