import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { connect, type Diplomat } from '@spock/client';
import { tlsTransport } from '@spock/client/tls';
import { BackendSource, createLocalBackend, Registrations } from '@spock/discovery';
import type { GoawayData, StatusReply } from '@spock/protocol';
import { AcceptedTokens, type CloseReason, createSidecar, type Sidecar, type SidecarListen } from '@spock/sidecar';
import {
	FakeClock,
	makeAuthority,
	runSidecar,
	SteadyCalls,
	startSidecar,
	type TempSocket,
	tempSocket,
	waitFor,
} from '@spock/testkit';
import { describe, expect, it, onTestFinished } from 'vitest';

import { EventGuest } from '../src/events/event-guest.ts';
import { TokenFile } from '../src/listen/tokens.ts';
import { MemoryEvents } from './memory-events.ts';
import { RawClient } from './raw-client.ts';
import { ackedUpTo, eventLine } from './running-events.ts';
import { sharedSidecar, upstreamOf } from './upstream-fixture.ts';

const [OLD, NEW, OTHER] = ['a-token-of-the-till', 'the-next-of-the-till', 'one-of-the-barista'];
/** How often the sidecar looks, and how long each step then takes. */
const LOOK_MS = 5000;

interface Site {
	readonly sidecar: Sidecar;
	readonly place: TempSocket;
	readonly events: MemoryEvents;
	readonly reasons: CloseReason[];
	readonly goaways: { readonly data: GoawayData; readonly count: number }[];
	/** Where the sidecar listens beside its socket. */
	readonly port: number;
	/** Replaces the lines of the token file. */
	write(...lines: readonly string[]): void;
	/** The sidecar looks at the tokens of its connections. */
	look(): Promise<void>;
	raw(token: string): Promise<RawClient>;
}

function tokenFile(clock: FakeClock): { readonly tokens: TokenFile; write(...lines: readonly string[]): void } {
	const directory = mkdtempSync(join(tmpdir(), 'spock-tokens-'));
	onTestFinished(() => rmSync(directory, { recursive: true }));
	const path = join(directory, 'tokens');
	const write = (...lines: readonly string[]): void => writeFileSync(path, lines.join('\n'));
	write(`till: ${OLD}`);
	return { tokens: new TokenFile({ path, clock, onEvent: () => undefined }), write };
}

async function open(listen: Partial<SidecarListen> = {}): Promise<Site> {
	const place = await tempSocket();
	const clock = new FakeClock();
	const { tokens, write } = tokenFile(clock);
	const backend = await createLocalBackend({ services: { barista: [{ host: '10.0.0.1', port: 80 }] } });
	const { registrar } = backend;
	const reasons: CloseReason[] = [];
	const goaways: Site['goaways'] = [];
	const events = new MemoryEvents();
	const sidecar = createSidecar({
		source: new BackendSource({ backend }),
		...(registrar && { registrations: new Registrations({ registrar, owner: 'the-one' }) }),
		listen: [
			{ address: { path: place.path }, tokens },
			{ address: { host: '127.0.0.1', port: 0 }, tokens, ...listen },
		],
		limits: { graceMs: 0 },
		events: {
			create: (context) => {
				const openFailed = (error: Error): void => expect.fail(error.message);
				return new EventGuest(context, { serve: () => events, directory: '/memory', drainMs: 5, openFailed });
			},
		},
		clock,
		observer: {
			connectionClosed: (_id, reason) => void reasons.push(reason),
			goaway: (data, count) => void goaways.push({ data, count }),
		},
	});
	const [, address = ''] = await sidecar.start();
	const port = Number(address.split(':').at(-1));
	onTestFinished(async () => {
		sidecar.terminate();
		sidecar.terminate();
		await clock.advance(60_000);
		await sidecar.ended;
		await place[Symbol.asyncDispose]();
	});
	return {
		...{ sidecar, place, events, reasons, goaways, port, write },
		look: () => clock.advance(LOOK_MS),
		raw: async (token) => {
			const client = await RawClient.open(port);
			onTestFinished(() => client[Symbol.asyncDispose]());
			const hello = await client.ask(1, 'hello', { versions: [1], features: ['goaway'], token });
			expect(hello).toMatchObject({ id: 1, data: { version: 1 } });
			return client;
		},
	};
}

const authority = makeAuthority();

/** Ways in, each of which requires a token. */
const WAYS: readonly (readonly [string, () => Promise<Site>, (site: Site) => Parameters<typeof connect>[0]])[] = [
	['a unix domain socket', open, ({ place }) => ({ path: place.path })],
	['TCP', open, ({ port }) => ({ host: '127.0.0.1', port })],
	[
		'TLS',
		() => open({ tls: { secrets: authority.issue(), look: async () => undefined } }),
		({ port }) => ({ host: '127.0.0.1', port, transport: tlsTransport({ ca: authority.ca }) }),
	],
];

describe.each(WAYS)('an app by %s', (_way, openSite, wayIn) => {
	const app = async (site: Site, token: () => string): Promise<Diplomat> => {
		const diplomat = await connect({ ...wayIn(site), token });
		onTestFinished(async () => void (await diplomat.close()));
		await diplomat.register({ service: 'till', id: 'till-1', host: '10.0.0.2', port: 80 });
		return diplomat;
	};

	it('whose token is exchanged goes on: no lookup fails, and its registration stays', async () => {
		const site = await openSite();
		let token = OLD;
		const diplomat = await app(site, () => token);
		const ages: number[] = [];
		const lookUp = async (): Promise<void> => void ages.push((await diplomat.getInstances('barista')).ageMs);
		await lookUp();
		token = NEW;
		site.write(`till: ${NEW}`);
		await site.look();
		await waitFor('its next connection', async () => {
			await lookUp();
			return site.reasons.length === 1;
		});
		for (let step = 0; step < 3; step++) {
			await site.look();
			await lookUp();
		}
		expect(site.reasons).toEqual(['client']);
		expect(Math.max(...ages)).toBe(0);
		expect(diplomat.status()).toMatchObject({ state: 'ready', reconnects: 1 });
		expect(site.sidecar.status().registrations).toMatchObject([{ id: 'till-1', app: 'till', phase: 'held' }]);
	});

	it('whose token is removed loses its connection and its rights, and looks up in what it knows', async () => {
		const site = await openSite();
		const diplomat = await app(site, () => OLD);
		await diplomat.getInstances('barista');
		site.write(`barista: ${OTHER}`);
		await site.look();
		await waitFor('the refusal of its next connection', () => site.reasons.includes('denied'));
		await site.look();
		await waitFor('its end', () => site.reasons.includes('token'));
		await waitFor('that it knows', () => diplomat.status().state !== 'ready');
		const second = { service: 'till', id: 'till-2', host: '10.0.0.2', port: 81 };
		// An attempt to connect during a look is dropped by the clock, without a reason: the next one is refused with it.
		await waitFor('the reason', () =>
			diplomat.register(second, { timeoutMs: 100 }).then(
				() => expect.fail('it has registered'),
				({ message }: Error) => message.includes('does not accept the token'),
			),
		);
		expect(site.sidecar.status().registrations).toMatchObject([{ id: 'till-1', phase: 'grace' }]);
		const { instances, source } = await diplomat.getInstances('barista');
		expect(instances).toMatchObject([{ host: '10.0.0.1' }]);
		expect(source).not.toBe('live');
	});
});

describe('a connection whose token was removed', () => {
	it('is asked to leave, answered what is in flight and nothing more, and cut off at last', async () => {
		const site = await open();
		const [client, stubborn] = [await site.raw(OLD), await site.raw(OLD)];
		site.write(`till: ${NEW}`);
		await site.look();
		const goaway = { event: 'goaway', data: { reason: 'token', graceMs: LOOK_MS } };
		expect([await client.next(), await stubborn.next()]).toMatchObject([goaway, goaway]);
		expect(site.goaways).toEqual([{ data: goaway.data, count: 2 }]);
		expect(await client.ask(2, 'ping', 'still')).toEqual({ id: 2, data: 'still' });
		// The registry does not know it: the answer comes when its time is over, after the end has begun.
		stubborn.request(3, 'explain', { service: 'barista' });
		await site.look();
		expect(await client.next()).toBeUndefined();
		client.request(4, 'ping', 'too late');
		client.socket.end();
		await waitFor('its end', () => site.reasons.length === 1);
		expect(client.unread).toBe(0);
		expect(await stubborn.next()).toMatchObject({ id: 3 });
		expect(await stubborn.next()).toBeUndefined();
		// It does not end its own side.
		await site.look();
		await waitFor('its end', () => site.reasons.length === 2);
		expect(site.reasons).toEqual(['token', 'token']);
	});

	it('with events is asked too, then none of them is taken any more, and an uplink is cut off at once', async () => {
		const site = await open();
		const [call, uplink, consumer, late] = await Promise.all([OLD, OLD, OLD, OLD].map(site.raw));
		if (!call || !uplink || !consumer || !late) throw new Error('expected four connections');
		const ticketOf = async (client: RawClient, producer: string): Promise<unknown> => {
			const reply = (await client.ask(2, 'openProducer', { producer }))?.['data'];
			return (reply as { readonly ticket: string } | undefined)?.ticket;
		};
		uplink.send({ func: 'uplink', data: { ticket: await ticketOf(call, 'p') } });
		const ticket = await ticketOf(late, 'q');
		await consumer.ask(2, 'openConsumer', { stream: 'orders', from: 'first' });
		uplink.socket.write(eventLine(1, 'a'));
		await ackedUpTo(call, 1);
		expect(await consumer.next()).toMatchObject({ event: 'deliver' });
		site.write(`till: ${NEW}`);
		await site.look();
		expect(await consumer.next()).toMatchObject({ event: 'goaway' });
		uplink.socket.write(eventLine(2, 'b'));
		await ackedUpTo(call, 2);
		await site.look();
		await waitFor('the end of the uplink', () => site.reasons.length === 1);
		expect([site.reasons, site.events.told.at(-1)]).toEqual([['token'], 'uplink closed p']);
		consumer.send({ func: 'nack', data: { consumer: 1, n: [1] } });
		late.send({ func: 'uplink', data: { ticket } });
		late.socket.write(eventLine(1, 'c'));
		for (const client of [consumer, late]) client.socket.end();
		await waitFor('their ends', () => site.reasons.length === 3);
		expect(site.events.told.filter((line) => line.startsWith('nack'))).toEqual([]);
		expect(site.events.disk.events).toHaveLength(2);
	});

	it('ends too where its token has another name now, and stays where the file is bad or the token comes back', async () => {
		const site = await open();
		await using client = await site.raw(OLD);
		for (const lines of [['till:'], [], [`till: ${OLD}`, `barista: ${OLD}`]]) {
			site.write(...lines);
			await site.look();
		}
		expect([client.unread, site.goaways.length]).toEqual([0, 0]);
		site.write(`kiosk: ${OLD}`);
		await site.look();
		expect(await client.next()).toMatchObject({ event: 'goaway' });
		site.write(`till: ${OLD}`, `till: ${NEW}`);
		for (let step = 0; step < 3; step++) await site.look();
		expect(await client.ask(2, 'ping', 'still')).toEqual({ id: 2, data: 'still' });
		expect(site.reasons).toEqual([]);
	});

	it('is one of many: their number is sent, so that they do not all come back at the same moment', async () => {
		const site = await open();
		site.write(`till: ${OLD}`, `barista: ${OTHER}`);
		await site.look();
		const clients = await Promise.all(Array.from({ length: 40 }, () => site.raw(OLD)));
		const barista = await site.raw(OTHER);
		site.write(`till: ${NEW}`, `barista: ${OTHER}`);
		await site.look();
		for (const client of clients) expect(await client.next()).toMatchObject({ data: { clients: 40 } });
		expect(site.goaways).toMatchObject([{ count: 40 }]);
		expect(barista.unread).toBe(0);
		await site.look();
		await site.look();
		await waitFor('their ends', () => site.reasons.length === 40);
		expect(await barista.ask(2, 'ping', 'still')).toEqual({ id: 2, data: 'still' });
	});
});

it('the token of the variable is never removed', async () => {
	const tokens = new AcceptedTokens([OLD]);
	const holder = tokens.find(OLD);
	expect(holder !== undefined && tokens.accepts(holder)).toBe(true);
});

describe('a sidecar that asks another', () => {
	const instance = { service: 'till', id: 'till-1', host: '10.0.0.1', port: 80 };

	it('keeps what its apps have registered when its token is exchanged, and loses its rights with it', async () => {
		const clock = new FakeClock();
		const { tokens, write } = tokenFile(clock);
		await using node = await sharedSidecar({ backend: await createLocalBackend(), tokens, clock });
		let token = OLD;
		await using pod = await sharedSidecar({
			backend: upstreamOf([node], { token: () => token, sidecar: 'the-one-of-the-pod' }),
		});
		await using app = await RawClient.open((pod.place.address as { readonly port: number }).port);
		expect(await app.ask(1, 'registerService', instance)).toMatchObject({ data: { state: 'registered' } });
		const opened = (): number | undefined => node.sidecar.status().counters['opened'];

		token = NEW;
		write(`till: ${NEW}`);
		await clock.advance(LOOK_MS);
		await waitFor('its next connection', () => opened() === 2 && node.sidecar.status().clients?.length === 1);
		await clock.advance(2 * LOOK_MS);
		expect(await app.ask(2, 'getInstances', { service: 'till' })).toMatchObject({ data: { ageMs: 0 } });
		expect(node.sidecar.status().registrations).toMatchObject([{ id: 'till-1', app: 'till', phase: 'held' }]);

		write(`barista: ${OTHER}`);
		for (let step = 0; step < 3; step++) await clock.advance(LOOK_MS);
		await waitFor('the loss', () => node.sidecar.status().registrations[0]?.phase === 'grace');
		const second = { ...instance, id: 'till-2', port: 81 };
		app.request(3, 'registerService', second, { timeoutMs: 100 });
		expect(await app.next()).toMatchObject({ data: { state: 'pending' } });
		expect(node.sidecar.status().registrations).toMatchObject([{ id: 'till-1' }]);
	});
});

it('as processes: the Spock of a node revokes the token of a sidecar, whose app notices nothing before', async () => {
	await using place = await tempSocket();
	const [tokens, upstreamToken] = [join(place.directory, 'tokens'), join(place.directory, 'upstream-token')];
	writeFileSync(tokens, `pod: ${OLD}\n`);
	writeFileSync(upstreamToken, OLD);
	const nodeSocket = join(place.directory, 'node.sock');
	await using node = await startSidecar(nodeSocket, [
		...['--backend', 'local', '--log-format', 'json', '--listen', '127.0.0.1:0', '--token-file', tokens],
	]);
	const port = await waitFor('the port', () => /"127\.0\.0\.1:(\d+)"/.exec(node.stdout())?.[1]);
	await using pod = await startSidecar(place.path, [
		...['--upstream', `127.0.0.1:${port}`, '--upstream-token-file', upstreamToken, '--log-format', 'json'],
	]);
	const diplomat = await connect({ path: place.path });
	onTestFinished(async () => void (await diplomat.close()));
	await diplomat.register({ service: 'till', id: 'till-1', host: '10.0.0.2', port: 80 });
	await using atNode = await RawClient.open(nodeSocket);
	/** The connections of others at the node. */
	const askers = async (): Promise<number[]> => {
		const status = (await atNode.ask(1, 'status')) as unknown as { readonly data: StatusReply };
		return (status.data.clients ?? []).flatMap(({ connection, client }) => (client === null ? [] : connection));
	};
	const [first] = await askers();
	await using lookups = new SteadyCalls(() => diplomat.request('getInstances', { service: 'till' }));

	writeFileSync(upstreamToken, NEW);
	writeFileSync(tokens, `pod: ${NEW}\n`);
	const asked = /"reason":"token","count":1,.*asking clients to leave/g;
	await waitFor('goaway', () => node.stdout().match(asked)?.length === 1, 20_000);
	await waitFor('its next connection alone', async () => {
		const found = await askers();
		return found.length === 1 && found[0] !== first;
	});
	await lookups.stop();
	expect(lookups.failed).toEqual([]);
	const ages = lookups.calls.map(({ value }) => (value as { readonly ageMs: number }).ageMs);
	expect(Math.max(...ages)).toBe(0);
	expect(pod.stdout()).not.toContain('"level":"warn"');

	writeFileSync(tokens, `another: ${OTHER}\n`);
	await waitFor('the end', () => node.stdout().includes('"reason":"token","bytesRead"'), 20_000);
	await waitFor('that the pod knows', () => pod.stdout().includes('does not accept the token in hello'), 20_000);
	const still = await runSidecar(['list', '--socket', nodeSocket]).finished;
	expect(still.stdout).toContain('till');
});
