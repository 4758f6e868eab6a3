import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { connect } from '@spock/client';
import { openEvents } from '@spock/client/events';
import { spawnProcess, startSidecar, tempSocket, waitFor } from '@spock/testkit';
import { expect, it } from 'vitest';

const collector = fileURLToPath(new URL('./collector.js', import.meta.url));

it('a web server takes the events of a sidecar, each once', async () => {
	await using place = await tempSocket();
	await using run = spawnProcess(process.execPath, [collector, '0']);
	await waitFor('the server', () => run.stdout().includes('\n'));
	const [url = ''] = /http:\S+/.exec(run.stdout()) ?? [];
	await using _sidecar = await startSidecar(place.path, [
		...['--backend', 'local', '--events', join(place.directory, 'events'), '--drain-timeout-ms', '100'],
		...['--events-store', 'http', '--events-http-url', url],
	]);
	await using diplomat = await connect({ path: place.path });
	await using events = openEvents({ diplomat });
	await events.publish('orders', { total: 5 }, { until: 'stored' });
	await events.publish('orders', { total: 7 }, { until: 'stored' });
	const batch = [{ specversion: '1.0', source: 'urn:test', id: '1', type: 'clicks', data: 'twice' }];
	for (const body of [JSON.stringify(batch), JSON.stringify(batch), 'no batch']) {
		const { status } = await fetch(url, { method: 'POST', body });
		expect(status).toBe(body === 'no batch' ? 400 : 204);
	}
	await waitFor('all of it', () => run.stdout().includes('twice'));
	expect(run.stdout().trim().split('\n').slice(1)).toEqual([
		'orders {"total":5}',
		'orders {"total":7}',
		'clicks "twice"',
	]);
});
