import { channel } from 'node:diagnostics_channel';

import { createDiplomat } from '@spock/client';
import { waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { clients, ready, undicis } from '../test/clients.ts';
import { ScriptedSource, startInstances } from '../test/instances.ts';
import { LeaseLedger } from '../test/leases.ts';
import { createDispatcher, spockInterceptor } from './index.ts';

const URL = 'http://barista.spock/';
const CHANNELS = ['create', 'headers', 'trailers', 'error'].map((name) => channel(`undici:request:${name}`));

function isListening(): boolean {
	const all = CHANNELS.map(({ hasSubscribers }) => hasSubscribers);
	expect(new Set(all).size).toBe(1);
	return all[0] === true;
}

/** Never but when the signal aborts. */
function aborted(signal: AbortSignal | undefined): Promise<never> {
	return new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(new Error('aborted'))));
}

describe.each(clients)('the dispatcher for $name', (client) => {
	it('closes the connections to an instance that has left, once its requests have ended', async () => {
		await using instances = await startInstances(2);
		const [leaving = expect.unreachable(), staying = expect.unreachable()] = instances;
		const source = new ScriptedSource({ barista: [leaving.record()] });
		await using diplomat = createDiplomat({ source });
		const dispatcher = ready(client, diplomat);
		await client.get(URL, { dispatcher });
		let answer: (() => void) | undefined;
		leaving.answer = (_request, response) => {
			answer = () => response.end('late');
		};
		const underWay = client.get(URL, { dispatcher });
		await waitFor('the request', () => answer);
		source.set('barista', [staying.record()]);
		expect((await client.get(URL, { dispatcher })).text).toBe(staying.name);
		// More than one where the second request came before undici had its first connection back.
		expect(leaving.sockets.size).toBeGreaterThan(0);
		answer?.();
		expect((await underWay).text).toBe('late');
		await waitFor('the end of its connections', () => leaving.sockets.size === 0);
		expect(staying.sockets.size).toBe(1);
		await dispatcher.close();
		await waitFor('the end of all connections', () => staying.sockets.size === 0);
	});

	it('close waits for the requests under way, and refuses others; twice is once', async () => {
		await using instances = await startInstances(1);
		const [instance = expect.unreachable()] = instances;
		let answer: (() => void) | undefined;
		instance.answer = (_request, response) => {
			answer = () => response.end('late');
		};
		await using diplomat = createDiplomat({ source: new ScriptedSource({ barista: [instance.record()] }) });
		const dispatcher = ready(client, diplomat);
		const underWay = client.get(URL, { dispatcher });
		await waitFor('the request', () => answer);
		const closed = dispatcher.close();
		await expect(client.get(URL, { dispatcher })).rejects.toThrow();
		expect(instance.received).toHaveLength(1);
		answer?.();
		expect((await underWay).text).toBe('late');
		await closed;
		await dispatcher.close();
		await dispatcher.destroy();
	});

	it('destroy fails the requests to an instance that has left, too', async () => {
		await using instances = await startInstances(2);
		const [leaving = expect.unreachable(), staying = expect.unreachable()] = instances;
		leaving.answer = () => undefined;
		const source = new ScriptedSource({ barista: [leaving.record()] });
		await using diplomat = createDiplomat({ source });
		const ledger = new LeaseLedger(diplomat);
		const dispatcher = ready(client, diplomat);
		const failed = client.get(URL, { dispatcher });
		failed.catch(() => undefined);
		await waitFor('the request', () => leaving.received.length === 1);
		source.set('barista', [staying.record()]);
		expect((await client.get(URL, { dispatcher })).text).toBe(staying.name);
		await dispatcher.destroy();
		await expect(failed).rejects.toThrow();
		expect(ledger.open).toBe(0);
	});

	it('destroy fails the requests under way and those that wait for an instance; twice is once', async () => {
		await using instances = await startInstances(1);
		const [instance = expect.unreachable()] = instances;
		instance.answer = () => undefined;
		const source = new ScriptedSource({ barista: [instance.record()] });
		const get = source.get.bind(source);
		source.get = (query, options) => (query.service === 'slow' ? aborted(options?.signal) : get(query));
		const watch = source.watch.bind(source);
		source.watch = (query, observer) => (query.service === 'slow' ? { stop: () => undefined } : watch(query, observer));
		await using diplomat = createDiplomat({ source });
		const ledger = new LeaseLedger(diplomat);
		const dispatcher = ready(client, diplomat);
		const failed = ['barista', 'slow'].map((name) => client.get(`http://${name}.spock/`, { dispatcher }));
		for (const one of failed) one.catch(() => undefined);
		await waitFor('the request', () => instance.received.length === 1);
		await dispatcher.destroy();
		for (const one of failed) await expect(one).rejects.toThrow();
		await dispatcher.destroy();
		await dispatcher.close();
		expect(ledger.open).toBe(0);
	});
});

describe('the dispatcher', () => {
	it('takes callbacks as undici’s do, and emits what its agents do', async () => {
		await using instances = await startInstances(1);
		const source = new ScriptedSource({ barista: instances.map((one) => one.record()) });
		await using diplomat = createDiplomat({ source });
		const dispatcher = createDispatcher({ diplomat });
		const connected: string[] = [];
		dispatcher.on('connect', (origin) => connected.push(String(origin)));
		await fetch(URL, { dispatcher });
		expect(connected).toEqual([`http://127.0.0.1:${instances[0]?.port}/`]);
		const end = dispatcher as unknown as Record<'close' | 'destroy', (...given: unknown[]) => unknown>;
		await new Promise((resolve) => expect(end.close(resolve)).toBeUndefined());
		await new Promise((resolve) => expect(end.destroy(resolve)).toBeUndefined());
		await new Promise((resolve) => expect(end.destroy(new Error('x'), resolve)).toBeUndefined());
	});

	it('and the interceptor listen to undici while they are in use, and no longer', async () => {
		expect(isListening()).toBe(false);
		const diplomat = createDiplomat({ source: new ScriptedSource() });
		const dispatcher = createDispatcher({ diplomat });
		const interceptor = spockInterceptor({ diplomat });
		expect(isListening()).toBe(true);
		interceptor.close();
		interceptor.close();
		expect(isListening()).toBe(true);
		await dispatcher.close();
		expect(isListening()).toBe(false);
		spockInterceptor({ diplomat });
		createDispatcher({ diplomat });
		expect(isListening()).toBe(true);
		await diplomat.close();
		expect(isListening()).toBe(false);
	});

	it('throws for wrong options, naming them', async () => {
		await using diplomat = createDiplomat({ source: new ScriptedSource() });
		const wrong: Record<string, object> = {
			diplomat: { diplomat: undefined },
			keepHost: { keepHost: 'yes' },
			servername: { servername: 1 },
			isFailure: { isFailure: 503 },
			suffix: { suffix: 'spock' },
			'unknown option "keephost"; did you mean "keepHost"?': { keephost: true },
			'not a promise: await it first': { diplomat: Promise.resolve(diplomat) },
		};
		const wrongAgents: Record<string, object> = {
			'Agent must be the class Agent of undici 6, 7 or 8': { Agent: Map },
			'give the class, not an instance': { Agent: {} },
			agentOptions: { agentOptions: 'fast' },
			'unknown option "agent"; did you mean "Agent"?': { agent: Map },
		};
		for (const [name, options] of Object.entries({ ...wrong, ...wrongAgents })) {
			const all = { diplomat, ...options } as Parameters<typeof createDispatcher>[0];
			expect(() => createDispatcher(all), name).toThrow(name);
			if (!(name in wrongAgents)) expect(() => spockInterceptor(all), name).toThrow(name);
		}
		for (const make of [createDispatcher, spockInterceptor]) {
			expect(() => Reflect.apply(make, undefined, [])).toThrow(`${make.name} needs options: { diplomat }`);
		}
		expect(() => spockInterceptor({ diplomat, agentOptions: {} } as never)).toThrow('unknown option "agentOptions"');
		expect(isListening()).toBe(false);
	});

	it('has the class of Node’s agents from when it was made, and says where it finds none', async () => {
		const symbols = [1, 2].map((version) => Symbol.for(`undici.globalDispatcher.${version}`));
		const own = symbols.map((symbol) => Reflect.get(globalThis, symbol));
		await using instances = await startInstances(1);
		const source = new ScriptedSource({ barista: instances.map((one) => one.record()) });
		await using diplomat = createDiplomat({ source });
		await using dispatcher = createDispatcher({ diplomat });
		for (const [, { MockAgent, setGlobalDispatcher }] of undicis) {
			setGlobalDispatcher(new MockAgent());
			try {
				expect(() => createDispatcher({ diplomat })).toThrow(/MockAgent|Dispatcher1Wrapper/);
				expect(await (await fetch(URL, { dispatcher })).text()).toBe('web-1');
			} finally {
				for (const [index, symbol] of symbols.entries()) Reflect.set(globalThis, symbol, own[index]);
			}
		}
	});

	it('is also ended by `await using`', async () => {
		await using instances = await startInstances(1);
		const source = new ScriptedSource({ barista: instances.map((one) => one.record()) });
		await using diplomat = createDiplomat({ source });
		{
			await using dispatcher = createDispatcher({ diplomat });
			await (await fetch(URL, { dispatcher })).text();
		}
		await waitFor('the end of its connections', () => instances[0]?.sockets.size === 0);
	});
});
