import { FakeClock, settle } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import type { ConsulClient, ConsulCommon, ConsulQuestion } from './client/consul-client.ts';
import { ConsulCatalogue } from './consul-catalogue.ts';
import type { ConsulHttp } from './http/consul-http.ts';
import type { RestoreWatches } from './watches/restore-watch.ts';

type Ask = (index: number, signal: AbortSignal) => Promise<unknown>;

/** A Consul with three addresses whose servers answer with this; what was asked, and of which address first. */
function catalogueWith(body: unknown, headers: Readonly<Record<string, string>> = {}) {
	const asked: { parameters: object | undefined; first: number | undefined; path?: string }[] = [];
	const watched = { started: 0, left: 0 };
	const client = {
		_request: ({ path }: { path: string }) => {
			(asked.at(-1) as { path?: string }).path = path;
			return Promise.resolve();
		},
		health: { service: () => Promise.resolve() },
	} as unknown as ConsulClient;
	const answer = async <T>({ parameters, send, read }: ConsulQuestion<T>, first: number | undefined): Promise<T> => {
		asked.push({ parameters, first });
		await send(client, {} as ConsulCommon);
		return read({ headers: { 'x-consul-index': '7', ...headers } } as unknown as Parameters<typeof read>[0], body);
	};
	const http = {
		clock: new FakeClock(),
		addressCount: 3,
		placeParameters: () => ({ dc: 'dc2', ns: 'team' }),
		readParameters: () => ({ dc: 'dc2', stale: '' }),
		call: <T>(question: ConsulQuestion<T>, { first }: { first?: number } = {}) => answer(question, first),
		blocking: <T>(question: ConsulQuestion<T>, _place: undefined, firstNow: () => number): Ask => {
			let count = 0;
			return (_index, signal) =>
				count++ === 0
					? answer(question, firstNow())
					: new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
		},
	} as unknown as ConsulHttp;
	const restores = {
		asks: () => void watched.started++,
		leave: () => void watched.left++,
	} as unknown as RestoreWatches;
	return { catalogue: new ConsulCatalogue(http, restores), asked, watched };
}

const name = { id: 'b1', service: 'barista', owner: 'me' };
const denied = { 'x-consul-results-filtered-by-acls': 'true' };
const renewed = { CheckID: 'spock:ttl:b1', ServiceID: 'b1', Status: 'passing', Type: 'ttl' };

describe('what Consul publishes of a registration', () => {
	it.each([
		['is served', [renewed], { isServed: true, isNodeLost: false }],
		['has expired', [{ ...renewed, Status: 'critical' }], { isServed: false, isNodeLost: false }],
		[
			'is on a lost node',
			[renewed, { CheckID: 'serfHealth', Status: 'critical' }],
			{ isServed: false, isNodeLost: true },
		],
		['has no checks', null, { isServed: true, isNodeLost: false }],
		[
			'is in maintenance',
			[renewed, { CheckID: '_service_maintenance:b1', Status: 'critical', Notes: 'disk' }],
			{ isServed: true, maintenance: 'disk' },
		],
		['is in maintenance without a reason', [{ CheckID: '_service_maintenance:b1' }], { maintenance: '' }],
	])('%s', async (_what, Checks, expected) => {
		const Service = { ID: 'b1', Address: '10.0.0.1', Port: 80, Meta: { 'spock-app': 'till' } };
		const { catalogue, asked } = catalogueWith([{ Node: { Node: 'n1', Address: '10.9.0.1' }, Service, Checks }, null]);
		const [seen, ...others] = await catalogue.look(name, 2);
		expect(others).toEqual([]);
		expect(seen).toMatchObject({ id: 'b1', node: 'n1', nodeHost: '10.9.0.1', host: '10.0.0.1', port: 80, app: 'till' });
		expect(seen).toMatchObject(expected);
		// Of the agents' own datacenter, by the newest state, at another address than the one in question.
		expect(asked).toMatchObject([{ parameters: { ns: 'team', consistent: '' }, first: 0 }]);
		expect(asked[0]?.parameters).not.toHaveProperty('dc');
	});

	it('has the address of its node where it has none, and is known by what little there is', async () => {
		const { catalogue } = catalogueWith([{ Node: { Node: 'n1', Address: '10.9.0.1' }, Service: { ID: 'b1' } }, {}]);
		expect(await catalogue.look(name, 0)).toMatchObject([
			{ host: '10.9.0.1', port: 0 },
			{ id: '', node: '', host: '', nodeHost: '' },
		]);
	});

	it('is unknown to a token that may not see it, and where another program answers', async () => {
		await expect(catalogueWith([], denied).catalogue.look(name, 0)).rejects.toMatchObject({ code: 'ACL_DENIED' });
		expect(await catalogueWith([]).catalogue.look(name, 0)).toEqual([]);
		await expect(catalogueWith({}).catalogue.look(name, 0)).rejects.toThrow();
	});

	it('is watched at another address, as one that restores concern, until it is left', async () => {
		const { catalogue, asked, watched } = catalogueWith([{ Node: { Node: 'n1' }, Service: { ID: 'b1' }, Checks: [] }]);
		const seen: unknown[] = [];
		const end = catalogue.watch(
			name,
			() => 1,
			(sightings) => seen.push(sightings),
		);
		await settle();
		expect(seen).toMatchObject([[{ id: 'b1', node: 'n1', isServed: true }]]);
		expect(asked).toMatchObject([{ first: 2, parameters: { stale: '' } }]);
		end();
		expect(watched).toMatchObject({ left: 1 });
		expect(watched.started).toBeGreaterThan(0);
	});
});

describe('a node', () => {
	it('is well unless its check has failed, or Consul has no such node', async () => {
		const passing = catalogueWith([{ CheckID: 'serfHealth', Status: 'passing' }]);
		expect(await passing.catalogue.isNodeWell('n 1', 1)).toBe(true);
		expect(passing.asked).toMatchObject([{ path: '/health/node/n%201', first: 2 }]);
		expect(await catalogueWith([{ Status: 'critical' }]).catalogue.isNodeWell('n1', 1)).toBe(false);
		expect(await catalogueWith([]).catalogue.isNodeWell('n1', 1)).toBe(false);
	});

	it('is unknown to a token that may not see it, and where another program answers', async () => {
		await expect(catalogueWith([], denied).catalogue.isNodeWell('n1', 0)).rejects.toMatchObject({ code: 'ACL_DENIED' });
		await expect(catalogueWith('a page').catalogue.isNodeWell('n1', 0)).rejects.toThrow();
		await expect(catalogueWith([], denied).catalogue.nodeHost('n1', 0)).rejects.toMatchObject({ code: 'ACL_DENIED' });
		await expect(catalogueWith('a page').catalogue.nodeHost('n1', 0)).rejects.toThrow();
	});

	it('has the address that Consul publishes, if any', async () => {
		expect(await catalogueWith([null, { Address: '10.9.0.1' }]).catalogue.nodeHost('n1', 0)).toBe('10.9.0.1');
		expect(await catalogueWith([{ Address: '' }]).catalogue.nodeHost('n1', 0)).toBeUndefined();
		expect(await catalogueWith([]).catalogue.nodeHost('n1', 0)).toBeUndefined();
	});
});
