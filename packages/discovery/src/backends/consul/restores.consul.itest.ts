import { findConsul, type RealConsul, startConsul, waitFor } from '@spock/testkit';
import { expect, it } from 'vitest';
import type { Backend } from '../../foundation/backend.ts';
import { consulBackend } from './consul-backend.ts';
import type { ConsulBackendOptions } from './consul-backend-options.ts';
import { ConsulCatalogue } from './consul-catalogue.ts';
import { ConsulHttp } from './http/consul-http.ts';
import { RestoreWatches } from './watches/restore-watch.ts';

const binary = findConsul(process.env);
/** Far less than the wait of a query. */
const SEEN_MS = 10_000;

/** Registers one instance of a service in the catalog, where no agent repairs it after a restore. */
const place = (consul: RealConsul, service: string, host: string, meta: object = {}): Promise<void> =>
	consul.put('/v1/catalog/register', {
		Node: 'ext',
		Address: '10.9.9.9',
		Service: { Service: service, ID: `${service}-1`, Port: 1, Address: host, Meta: meta },
	});

const saved = async (consul: RealConsul): Promise<Uint8Array<ArrayBuffer>> =>
	new Uint8Array(await (await fetch(`${consul.url}/v1/snapshot`)).arrayBuffer());

const restore = async (consul: RealConsul, body: Uint8Array<ArrayBuffer>): Promise<void> => {
	expect((await fetch(`${consul.url}/v1/snapshot`, { method: 'PUT', body })).status).toBe(200);
};

/** Counts the answers of a backend, after which it holds a query for each, and closes it in the end. */
function counted(consul: RealConsul, more: ConsulBackendOptions = {}) {
	let answers = 0;
	const options: ConsulBackendOptions = {
		addresses: [consul.url],
		onEvent: (event) => {
			if (event.type === 'backend-query' && event.outcome === 'ok') answers++;
		},
		...more,
	};
	/** Consul has the queries that follow on so many answers: it answers one that was sent after them. */
	const held = async (count: number): Promise<void> => {
		await waitFor('the answers', () => answers >= count);
		await saved(consul);
	};
	const reset = (): void => {
		answers = 0;
	};
	return { options, held, reset };
}

/** A watch that keeps the host of its one instance. */
function hostOf(backend: Backend, service: string, datacenter?: string) {
	let host: string | undefined;
	const watch = backend.watch(
		{ service, ...(datacenter !== undefined && { datacenter }) },
		{
			answered: ([one]) => {
				host = one?.host;
			},
			failed: () => undefined,
		},
	);
	return { watch, host: () => host };
}

it('a restore of a real Consul is seen while the first held query of a service still waits, also after all watches had ended', async () => {
	await using consul = await startConsul({ binary });
	await place(consul, 'orders', '10.9.9.1');
	const before = await saved(consul);
	await place(consul, 'orders', '10.9.9.2');
	const { options, held, reset } = counted(consul);
	const backend = consulBackend(options);
	await using _closing = { [Symbol.asyncDispose]: () => backend.close() };
	for (const datacenter of [undefined, 'dc1', undefined]) {
		reset();
		const one = hostOf(backend, 'orders', datacenter);
		await waitFor('the state of now', () => one.host() === '10.9.9.2');
		await held(2);
		await restore(consul, before);
		await waitFor('the older state', () => one.host() === '10.9.9.1', SEEN_MS);
		one.watch.stop();
		await place(consul, 'orders', '10.9.9.2');
	}
});

it('so it is with a key, and with a service that is polled', async () => {
	await using consul = await startConsul({ binary });
	await place(consul, 'orders', '10.9.9.1');
	await place(consul, 'bills', '10.9.9.1');
	await consul.put('/v1/kv/colour', 'red');
	const before = await saved(consul);
	await place(consul, 'orders', '10.9.9.2');
	await place(consul, 'bills', '10.9.9.2');
	await consul.put('/v1/kv/colour', 'blue');
	const { options, held } = counted(consul, { heldMax: 1 });
	const backend = consulBackend(options);
	await using _closing = { [Symbol.asyncDispose]: () => backend.close() };
	const all = [hostOf(backend, 'orders'), hostOf(backend, 'bills')];
	let colour: string | undefined;
	backend.watchKey?.(
		{ key: 'colour' },
		{
			answered: ([entry]) => {
				colour = entry?.value;
			},
			failed: () => undefined,
		},
	);
	await waitFor('the state of now', () => all.every(({ host }) => host() === '10.9.9.2') && colour === '"blue"');
	await held(7);
	await restore(consul, before);
	await waitFor('the older state', () => all.every(({ host }) => host() === '10.9.9.1') && colour === '"red"', SEEN_MS);
});

it('and the registrations of a sidecar are looked at again, although nothing else is watched', async () => {
	await using consul = await startConsul({ binary });
	await place(consul, 'orders', '10.9.9.1', { 'spock-owner': 'me' });
	const before = await saved(consul);
	await place(consul, 'orders', '10.9.9.2', { 'spock-owner': 'me' });
	const { options, held } = counted(consul);
	const http = new ConsulHttp(options);
	await using _closing = { [Symbol.asyncDispose]: () => http.close() };
	const catalogue = new ConsulCatalogue(http, new RestoreWatches(http));
	let host: string | undefined;
	const end = catalogue.watch(
		{ service: 'orders', owner: 'me' },
		() => 0,
		([one]) => {
			host = one?.host;
		},
	);
	await waitFor('the state of now', () => host === '10.9.9.2');
	await held(2);
	await restore(consul, before);
	await waitFor('the older state', () => host === '10.9.9.1', SEEN_MS);
	end();
});
