import { type Backend, createLocalBackend } from '@spock/discovery';
import { AcceptedTokens } from '@spock/sidecar';
import { waitFor } from '@spock/testkit';
import { describe, expect, it, onTestFinished } from 'vitest';

import { RawClient } from './raw-client.ts';
import { type SharedSidecar, sharedSidecar, upstreamOf } from './upstream-fixture.ts';

const TOKENS = { till: 'the-s3cret-of-the-till', barista: 'the-s3cret-of-the-barista', node: 'the-s3cret-of-the-node' };
type App = keyof typeof TOKENS;

const instance = { service: 'till', id: 'till-1', host: '10.0.0.1', port: 80 };
const denied = {
	error: { code: 'ACL_DENIED', message: 'till-1 is registered by another app; only that app may change it' },
};

/** All that may be tried with the instance of another app: by its id, its name and its port. */
const ATTACKS: readonly (readonly [string, string, object])[] = [
	['registers it', 'registerService', instance],
	['moves it', 'registerService', { ...instance, host: '6.6.6.6' }],
	['takes its id for its own service', 'registerService', { ...instance, service: 'barista' }],
	['binds it to the sidecar', 'registerService', { ...instance, bind: 'sidecar' }],
	['claims to speak for it', 'registerService', { ...instance, app: 'till' }],
	['reports on it', 'reportService', { id: 'till-1', status: 'critical' }],
	['reports on it in its name', 'reportService', { id: 'till-1', status: 'critical', app: 'till' }],
	['deregisters it', 'deregisterService', { id: 'till-1' }],
	['deregisters it in its name', 'deregisterService', { id: 'till-1', app: 'till' }],
];

async function shared(options: Parameters<typeof sharedSidecar>[0]): Promise<SharedSidecar> {
	const sidecar = await sharedSidecar(options);
	onTestFinished(() => sidecar[Symbol.asyncDispose]());
	return sidecar;
}

function tokensOf(...apps: readonly App[]): AcceptedTokens {
	return new AcceptedTokens(apps.map((app) => `${app}: ${TOKENS[app]}`));
}

function asking(sidecar: SharedSidecar, app: App, instanceOf: string): Backend {
	return upstreamOf([sidecar], { token: TOKENS[app], sidecar: instanceOf });
}

/** A client with the token of an app; none where the sidecar requires none. */
async function connect({ place }: SharedSidecar, app?: App): Promise<RawClient> {
	const { port } = place.address as { readonly port: number };
	const client = await RawClient.open(port);
	onTestFinished(() => client[Symbol.asyncDispose]());
	const token = app === undefined ? {} : { token: TOKENS[app] };
	expect(await client.ask(1, 'hello', { versions: [1], ...token })).toMatchObject({ data: { version: 1 } });
	return client;
}

interface Site {
	/** The one that has the registry. */
	readonly registry: SharedSidecar;
	readonly till: RawClient;
	readonly barista: RawClient;
	/** How the registry knows the app. */
	readonly app: string;
}

/** Ways for two apps to one registry. */
const SITES: readonly (readonly [string, () => Promise<Site>])[] = [
	[
		'one sidecar',
		async () => {
			const registry = await shared({ backend: await createLocalBackend(), tokens: tokensOf('till', 'barista') });
			return {
				...{ registry, app: 'till' },
				...{ till: await connect(registry, 'till'), barista: await connect(registry, 'barista') },
			};
		},
	],
	[
		'a sidecar of their own each, which has their token',
		async () => {
			const registry = await shared({ backend: await createLocalBackend(), tokens: tokensOf('till', 'barista') });
			const [one, other] = [
				await shared({ backend: asking(registry, 'till', 'A') }),
				await shared({ backend: asking(registry, 'barista', 'B') }),
			];
			return { registry, app: 'till', till: await connect(one), barista: await connect(other) };
		},
	],
	[
		'one sidecar that asks another',
		async () => {
			const registry = await shared({ backend: await createLocalBackend(), tokens: tokensOf('node') });
			const node = await shared({ backend: asking(registry, 'node', 'A'), tokens: tokensOf('till', 'barista') });
			return {
				...{ registry, app: 'node/till' },
				...{ till: await connect(node, 'till'), barista: await connect(node, 'barista') },
			};
		},
	],
	[
		'sidecars of two nodes, with one token, that ask a third',
		async () => {
			const registry = await shared({ backend: await createLocalBackend(), tokens: tokensOf('node') });
			const tokens = tokensOf('till', 'barista');
			const [one, other] = [
				await shared({ backend: asking(registry, 'node', 'A'), tokens }),
				await shared({ backend: asking(registry, 'node', 'B'), tokens }),
			];
			return {
				...{ registry, app: 'node/till' },
				...{ till: await connect(one, 'till'), barista: await connect(other, 'barista') },
			};
		},
	],
	[
		'a sidecar in the pod, the one of the node and the one of the zone',
		async () => {
			const registry = await shared({ backend: await createLocalBackend(), tokens: tokensOf('node') });
			const node = await shared({ backend: asking(registry, 'node', 'N'), tokens: tokensOf('till', 'barista') });
			const [one, other] = [
				await shared({ backend: asking(node, 'till', 'A') }),
				await shared({ backend: asking(node, 'barista', 'B') }),
			];
			return { registry, app: 'node/till', till: await connect(one), barista: await connect(other) };
		},
	],
];

it('with the next token of a rotation an app changes what it has registered with the one before', async () => {
	const tokens = new AcceptedTokens([`till: ${TOKENS.till}`, `till: ${TOKENS.node}`, `barista: ${TOKENS.barista}`]);
	const sidecar = await shared({ backend: await createLocalBackend(), tokens });
	const [old, next, other] = [
		await connect(sidecar, 'till'),
		await connect(sidecar, 'node'),
		await connect(sidecar, 'barista'),
	];
	await old.ask(2, 'registerService', instance);
	old.socket.destroy();
	await waitFor('that it has left', () => sidecar.sidecar.status().registrations[0]?.phase === 'grace');
	expect(await other.ask(2, 'registerService', { ...instance, port: 81 })).toMatchObject(denied);
	expect(await next.ask(2, 'registerService', { ...instance, port: 81 })).toMatchObject({
		data: { state: 'registered' },
	});
	const { instances } = await sidecar.source.get({ service: 'till' });
	expect(instances).toMatchObject([{ port: 81, status: 'passing' }]);
});

describe.each(SITES)('two apps with tokens behind %s', (_way, open) => {
	const status = async ({ registry }: Site) =>
		(await registry.source.get({ service: 'till' })).instances.map(({ host, status }) => [host, status]);

	it('each changes its own instances alone', async () => {
		const site = await open();
		const { till, barista, registry, app } = site;
		expect(await till.ask(2, 'registerService', instance)).toMatchObject({ data: { state: 'registered' } });
		expect(registry.sidecar.status().registrations).toMatchObject([{ id: 'till-1', app }]);
		let id = 2;
		for (const [what, func, data] of ATTACKS) {
			const answer = await barista.ask(id++, func, data);
			// A sidecar between them does not know the instance, and says so.
			const unknown = func === 'reportService' ? { error: { code: 'NO_SUCH_SERVICE' } } : { data: null };
			if (answer?.error?.['code'] === 'ACL_DENIED') {
				expect(answer.error['message'], what).toContain(denied.error.message);
			} else {
				expect(answer, what).toMatchObject(unknown);
				expect(func, what).not.toBe('registerService');
			}
			expect(await status(site), what).toEqual([['10.0.0.1', 'passing']]);
		}
		expect((await registry.source.get({ service: 'barista' }).catch(() => undefined))?.instances ?? []).toEqual([]);

		await till.ask(3, 'reportService', { id: 'till-1', status: 'warning' });
		await waitFor('the report', async () => (await status(site))[0]?.[1] === 'warning');
		await till.ask(4, 'deregisterService', { id: 'till-1' });
		await waitFor('that it is gone', async () => (await status(site)).length === 0);
		// Free for anyone now.
		expect(await barista.ask(90, 'registerService', instance)).toMatchObject({ data: { state: 'registered' } });
	});

	it('what an app has left for a while is not taken by another', async () => {
		const site = await open();
		await site.till.ask(2, 'registerService', instance);
		site.till.socket.destroy();
		await waitFor('that it is critical', async () => (await status(site))[0]?.[1] === 'critical');
		for (const [index, [what, func, data]] of ATTACKS.entries()) {
			await site.barista.ask(2 + index, func, data);
			expect(await status(site), what).toEqual([['10.0.0.1', 'critical']]);
		}
	});
});
