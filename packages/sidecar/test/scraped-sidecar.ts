import { startFakeConsul, startSidecar, type TempSocket, tempSocket, waitFor } from '@spock/testkit';

import { RawClient } from './raw-client.ts';

const REQUESTS = 20_000;
const BATCH = 500;

/** One metric of a scrape. */
export interface ScrapedMetric {
	readonly type: string;
	/** Without `le`. */
	readonly labels: ReadonlySet<string>;
	readonly series: number;
}

/** A scrape of a real sidecar that has had work. */
export interface Scrape {
	readonly text: string;
	readonly metrics: ReadonlyMap<string, ScrapedMetric>;
}

/** Starts a sidecar with a registry, lets it work, and scrapes it while requests are on their way. */
export async function scrapeUnderLoad(): Promise<Scrape> {
	await using consul = await startFakeConsul();
	await using place = await tempSocket();
	consul.set('barista', [{ id: 'barista-1' }]);
	// With little room for what is new, garbage is collected early.
	const env = { CONSUL_HTTP_ADDR: consul.url, NODE_OPTIONS: '--max-semi-space-size=1' };
	const args = ['--backend', 'consul', '--admin', '127.0.0.1:0', '--events', `${place.directory}/events`];
	await using sidecar = await startSidecar(place.path, args, { env });
	const [, address] = await waitFor(
		'its port',
		() => /"address":"([^"]+)","msg":"admin port/.exec(sidecar.stdout()) ?? undefined,
	);
	await using client = await RawClient.open(place.path);
	await client.ask(1, 'watchService', { service: 'barista' });
	await client.ask(2, 'nothing');
	await client.ask(3, 'getService', { service: 'nobody' });
	await client.ask(4, 'publish', { stream: 'orders', payload: 1 });
	await client.ask(5, 'openConsumer', { stream: 'orders', group: 'billing', from: 'first' });
	await askMuch(client);
	const text = await (await fetch(`http://${address}/metrics`)).text();
	const behind = await scrapeBehind(place, () => consul.set('barista', [{ id: 'barista-1' }, { id: 'barista-2' }]));
	return { text, metrics: readScrape(text + behind) };
}

/** What a sidecar that asks the one at this place has of its own in a scrape, once it was sent a change. */
async function scrapeBehind({ path, directory }: TempSocket, change: () => void): Promise<string> {
	const behind = `${directory}/behind.sock`;
	await using sidecar = await startSidecar(behind, ['--upstream', `unix:${path}`, '--admin', '127.0.0.1:0']);
	const [, address] = await waitFor(
		'its port',
		() => /"address":"([^"]+)","msg":"admin port/.exec(sidecar.stdout()) ?? undefined,
	);
	await using client = await RawClient.open(behind);
	await client.ask(1, 'watchService', { service: 'barista' });
	change();
	return await waitFor('the change', async () => {
		const text = await (await fetch(`http://${address}/metrics`)).text();
		if (!text.includes('\nspock_upstream_lag_seconds ')) return undefined;
		return text
			.split('\n')
			.filter((line) => line.includes('spock_upstream_'))
			.join('\n');
	});
}

async function askMuch(client: RawClient): Promise<void> {
	for (let first = 10; first < REQUESTS; first += BATCH) {
		for (let id = first; id < first + BATCH; id++) client.request(id, 'getService', { service: 'barista' });
		for (let count = 0; count < BATCH; count++) await client.next();
	}
	for (let id = REQUESTS * 2; id < REQUESTS * 2 + BATCH; id++) client.request(id, 'getService', { service: 'barista' });
}

/** The metrics of a scrape by name. Those of a histogram are one. */
export function readScrape(text: string): Map<string, ScrapedMetric> {
	const metrics = new Map<string, { type: string; labels: Set<string>; series: number }>();
	for (const [, name = '', type = ''] of text.matchAll(/^# TYPE (\S+) (\S+)$/gm)) {
		metrics.set(name, { type, labels: new Set(), series: 0 });
	}
	for (const [, sample = '', labels = ''] of text.matchAll(/^([a-z_0-9]+)(?:\{(.*)\})? \S+$/gm)) {
		const metric = metrics.get(sample) ?? metrics.get(sample.replace(/_(bucket|sum|count)$/, ''));
		if (metric === undefined) throw new Error(`${sample} has no type`);
		metric.series++;
		for (const [, label = ''] of labels.matchAll(/(\w+)="/g)) if (label !== 'le') metric.labels.add(label);
	}
	return metrics;
}
