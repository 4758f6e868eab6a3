import { createDiplomat, type Diplomat } from '@spock/client';
import { tempSocket, waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { composed, type Dispatcher, ready, undicis } from '../test/clients.ts';
import { refusingInstance, ScriptedSource, startInstances, type TestInstance } from '../test/instances.ts';
import { LeaseLedger } from '../test/leases.ts';
import { spockInterceptor } from './index.ts';

const URL = 'http://barista.spock/';

interface Setting extends AsyncDisposable {
	readonly instances: readonly TestInstance[];
	readonly diplomat: Diplomat;
	readonly ledger: LeaseLedger;
}

async function set(count: number, options: object = {}): Promise<Setting> {
	const instances = await startInstances(count);
	const source = new ScriptedSource({ barista: instances.map((one) => one.record()) });
	const diplomat = createDiplomat({ source, ...options });
	return {
		instances,
		diplomat,
		ledger: new LeaseLedger(diplomat),
		[Symbol.asyncDispose]: async () => {
			await diplomat.close();
			await instances[Symbol.asyncDispose]();
		},
	};
}

/** Gives back a lease that waits, until the test says that the answer may come. */
function gate(instances: readonly TestInstance[]): { open(): void; readonly waiting: () => number } {
	const waiting: Array<() => void> = [];
	let isOpen = false;
	for (const instance of instances) {
		instance.answer = (_request, response) => {
			if (isOpen) response.end(instance.name);
			else waiting.push(() => response.end(instance.name));
		};
	}
	return {
		open: () => {
			isOpen = true;
			for (const answer of waiting.splice(0)) answer();
		},
		waiting: () => waiting.length,
	};
}

describe.each(undicis)('leases of %s', (name, undici) => {
	const client = { name, Agent: undici.Agent, retry: undefined, get: undici.get };

	it('the requests that are under way count, so that the least busy instance gets the next', async () => {
		await using setting = await set(2, { policy: 'least-in-flight' });
		const { instances, diplomat, ledger } = setting;
		const answers = gate(instances);
		const dispatcher = ready(client, diplomat);
		await diplomat.getService('barista');
		const replies: Promise<unknown>[] = [];
		for (let turn = 0; turn < 10; turn++) replies.push(undici.get(URL, { dispatcher }));
		await waitFor('the requests', () => answers.waiting() === 10);
		expect(instances.map(({ received }) => received.length)).toEqual([5, 5]);
		expect(ledger.open).toBe(10);
		answers.open();
		await Promise.all(replies);
		expect(ledger.open).toBe(0);
		await dispatcher.close();
	});

	it('a request that waits in a pool has no lease, and still is reported when it ends', async () => {
		await using setting = await set(1);
		const { instances, diplomat, ledger } = setting;
		const answers = gate(instances);
		// A pool is one of more than one connection.
		const dispatcher = ready(client, diplomat, { agentOptions: { connections: 2 } });
		await diplomat.getService('barista');
		const replies = [1, 2, 3, 4, 5].map(() => undici.get(URL, { dispatcher }));
		await waitFor('the first requests', () => answers.waiting() === 2);
		expect(ledger.open).toBe(2);
		answers.open();
		await Promise.all(replies);
		const [ok, letGo] = ['success', 'cancelled'];
		expect([ledger.open, ledger.outcomes]).toEqual([0, [letGo, letGo, letGo, ok, ok]]);
		expect(ledger.reported).toEqual(Array(3).fill('web-1 success'));
		await dispatcher.close();
	});

	it('a mock that answers leaves no lease behind', async () => {
		await using setting = await set(1);
		const { instances, diplomat, ledger } = setting;
		const [instance = expect.unreachable()] = instances;
		const mock = new undici.MockAgent() as unknown as Dispatcher & {
			disableNetConnect(): void;
			get(origin: string): {
				intercept(request: object): { reply(status: number, body: string): { delay(ms: number): void } };
			};
		};
		mock.disableNetConnect();
		mock.get(`http://127.0.0.1:${instance.port}`).intercept({ path: '/' }).reply(200, 'mocked').delay(5);
		const dispatcher = mock.compose(spockInterceptor({ diplomat }));
		const reply = undici.get(URL, { dispatcher });
		expect((await reply).text).toBe('mocked');
		expect([ledger.open, ledger.outcomes]).toEqual([0, ['cancelled']]);
		await mock.close();
	});

	it('an upgrade and a CONNECT leave no lease behind', async () => {
		await using setting = await set(1);
		const { diplomat, ledger } = setting;
		const dispatcher = ready(client, diplomat);
		const { socket } = await undici.upgrade(URL, { dispatcher, protocol: 'test' });
		expect(ledger.open).toBe(0);
		socket.destroy();
		await expect(undici.connect(URL, { dispatcher })).rejects.toThrow();
		expect(ledger.open).toBe(0);
		expect(ledger.outcomes).toEqual(['cancelled', 'cancelled']);
		expect(ledger.reported[0]).toBe('web-1 success');
		await dispatcher.destroy();
	});

	it('a request that is aborted before it has a connection ends its lease', async () => {
		await using setting = await set(1);
		const { diplomat, ledger } = setting;
		const dispatcher = ready(client, diplomat);
		await diplomat.getService('barista');
		const aborted = undici.get(URL, { dispatcher, signal: AbortSignal.abort() });
		await expect(aborted).rejects.toMatchObject({ name: 'AbortError' });
		expect([ledger.open, ledger.outcomes]).toEqual([0, ['cancelled']]);
		await dispatcher.close();
	});

	it('a request that was aborted before it is made does not wait for its service to be known', async () => {
		await using place = await tempSocket();
		await using diplomat = createDiplomat({ path: place.path });
		const ledger = new LeaseLedger(diplomat);
		const dispatcher = ready(client, diplomat);
		const own = new Error('my reason');
		await expect(undici.get(URL, { dispatcher, signal: AbortSignal.abort(own) })).rejects.toBe(own);
		expect([ledger.open, ledger.outcomes, ledger.reported]).toEqual([0, [], []]);
		await dispatcher.close();
	});

	it('requests that are destroyed end their leases', async () => {
		await using setting = await set(2);
		const { instances, diplomat, ledger } = setting;
		const answers = gate(instances);
		const dispatcher = ready(client, diplomat);
		await diplomat.getService('barista');
		const replies = [1, 2, 3].map(() => undici.get(URL, { dispatcher }));
		for (const reply of replies) reply.catch(() => undefined);
		await waitFor('the requests', () => answers.waiting() === 3);
		await dispatcher.destroy();
		for (const reply of replies) await expect(reply).rejects.toThrow();
		await waitFor('the leases', () => ledger.open === 0);
		expect(new Set(ledger.outcomes)).toEqual(new Set(['cancelled']));
	});

	it('a request that undici refuses at once ends its lease', async () => {
		await using setting = await set(1);
		const { diplomat, ledger } = setting;
		const dispatcher = composed(client, diplomat);
		await diplomat.getService('barista');
		const headers = { 'bad header': 'x' };
		await expect(undici.get(URL, { dispatcher, headers })).rejects.toMatchObject({ code: 'UND_ERR_INVALID_ARG' });
		expect(ledger.open).toBe(0);
		expect(ledger.outcomes).toEqual(['cancelled']);
		await dispatcher.close();
	});

	it('an interceptor that is closed reports no more, and leaves no lease behind', async () => {
		await using setting = await set(1);
		const { instances, diplomat, ledger } = setting;
		const answers = gate(instances);
		const interceptor = spockInterceptor({ diplomat });
		const dispatcher = (new undici.Agent() as unknown as Dispatcher).compose(interceptor);
		const underWay = undici.get(URL, { dispatcher });
		await waitFor('the request', () => answers.waiting() === 1);
		interceptor.close();
		answers.open();
		await underWay;
		expect(ledger.outcomes).toEqual(['success']);
		expect((await undici.get(URL, { dispatcher })).text).toBe('web-1');
		expect([ledger.open, ledger.outcomes]).toEqual([0, ['success', 'cancelled']]);
		await dispatcher.close();
	});

	it('the caller’s own mistakes are no failures of the instance', async () => {
		await using setting = await set(1);
		const { diplomat, ledger } = setting;
		const dispatcher = ready(client, diplomat);
		const own = new Error('my reason');
		const given = new AbortController();
		const [instance = expect.unreachable()] = setting.instances;
		instance.answer = () => given.abort(own);
		await expect(undici.get(URL, { dispatcher, signal: given.signal })).rejects.toBe(own);
		expect([own.message, ledger.outcomes]).toEqual(['my reason', ['cancelled']]);
		await dispatcher.destroy();
	});

	it('an answer that says that the instance is in trouble counts, also where its caller gives up on its body', async () => {
		await using setting = await set(1);
		const { diplomat, ledger, instances } = setting;
		const [instance = expect.unreachable()] = instances;
		const given = new AbortController();
		instance.answer = (_request, response) => response.writeHead(503).write('wait');
		const dispatcher = ready(client, diplomat);
		const { body } = await undici.request(URL, { dispatcher, signal: given.signal });
		given.abort();
		await expect(body.text()).rejects.toThrow();
		await waitFor('the end of the lease', () => ledger.open === 0);
		expect(ledger.outcomes).toEqual(['failure']);
		await dispatcher.destroy();
	});

	it('an error of the connection names the instance once, however many requests it ends', async () => {
		const refusing = await refusingInstance('web-9');
		await using diplomat = createDiplomat({ source: new ScriptedSource({ barista: [refusing] }) });
		const dispatcher = ready(client, diplomat, { agentOptions: { connections: 1, pipelining: 10 } });
		await diplomat.getService('barista');
		const replies = await Promise.allSettled([1, 2, 3].map(() => undici.get(URL, { dispatcher })));
		for (const reply of replies) {
			const { message } = (reply as PromiseRejectedResult).reason as Error;
			expect(message.match(/the instance/g)).toHaveLength(1);
		}
		await dispatcher.close();
	});
});
