import { createDiplomat } from '@spock/client';
import { retry } from '@spock/client/integrations';
import { describe, expect, it } from 'vitest';

import { clients, composed, type Dispatcher, ready, undicis } from '../test/clients.ts';
import { refusingInstance, ScriptedSource, startInstances } from '../test/instances.ts';
import { LeaseLedger } from '../test/leases.ts';

const URL = 'http://barista.spock/';
/** Of undici, without its waiting. */
const RETRIES = { minTimeout: 1, maxRetries: 3 };

const ways = undicis.flatMap(([name, undici]) =>
	Object.entries({ dispatcher: ready, interceptor: composed }).map(([way, make]) => ({ name, undici, way, make })),
);

describe.each(ways)('undici’s own retry over the $way, $name', ({ name, undici, make }) => {
	const client = { name, Agent: undici.Agent, retry: undici.interceptors.retry, get: undici.get };
	const retrying = (dispatcher: Dispatcher): Dispatcher => dispatcher.compose(undici.interceptors.retry(RETRIES));

	it('picks an instance that has not failed yet, however many have', async () => {
		await using instances = await startInstances(1);
		const refusing = await Promise.all(['web-7', 'web-8', 'web-9'].map(refusingInstance));
		// Round robin alone would come upon the good one too; a policy that always picks the same would not.
		const source = new ScriptedSource({ barista: [...refusing, ...instances.map((one) => one.record())] });
		for (const policy of ['round-robin', 'random'] as const) {
			await using diplomat = createDiplomat({ source, policy, ejectAfterFailures: 0 });
			const ledger = new LeaseLedger(diplomat);
			const dispatcher = make(client, diplomat);
			const outer = retrying(dispatcher);
			for (let turn = 0; turn < 10; turn++) expect((await undici.get(URL, { dispatcher: outer })).text).toBe('web-1');
			expect(ledger.open).toBe(0);
			expect(ledger.outcomes.filter((outcome) => outcome === 'success')).toHaveLength(10);
			await dispatcher.close();
		}
	});

	it('goes to another instance after an answer that says that one is in trouble', async () => {
		await using instances = await startInstances(2);
		const [sick = expect.unreachable()] = instances;
		sick.answer = (_request, response) => response.writeHead(503).end();
		const source = new ScriptedSource({ barista: instances.map((one) => one.record()) });
		await using diplomat = createDiplomat({ source, ejectAfterFailures: 0 });
		const ledger = new LeaseLedger(diplomat);
		const dispatcher = make(client, diplomat);
		const outer = retrying(dispatcher);
		for (let turn = 0; turn < 6; turn++) {
			expect(await undici.get(URL, { dispatcher: outer })).toEqual({ status: 200, text: 'web-2' });
		}
		expect(sick.received.length).toBeGreaterThan(0);
		expect(ledger.outcomes.filter((outcome) => outcome === 'failure')).toHaveLength(sick.received.length);
		await dispatcher.close();
	});

	it('ends with the error of the last instance where all fail, and at once where there is no such service', async () => {
		const refusing = await Promise.all(['web-8', 'web-9'].map(refusingInstance));
		await using diplomat = createDiplomat({ source: new ScriptedSource({ barista: refusing }), ejectAfterFailures: 0 });
		const ledger = new LeaseLedger(diplomat);
		const dispatcher = make(client, diplomat);
		const outer = retrying(dispatcher);
		await expect(undici.get(URL, { dispatcher: outer })).rejects.toMatchObject({
			code: 'ECONNREFUSED',
			service: 'barista',
		});
		// Both were tried at once, before one came again.
		expect(ledger.outcomes.filter((outcome) => outcome === 'failure')).toHaveLength(5);
		const unknown = undici.get('http://nobody.spock/', { dispatcher: outer });
		await expect(unknown).rejects.toMatchObject({ code: 'NO_SUCH_SERVICE' });
		await dispatcher.close();
	});

	it('an inner retry would stay with one instance: the order matters', async () => {
		await using instances = await startInstances(1);
		const refusing = await refusingInstance('web-9');
		const source = new ScriptedSource({ barista: [refusing, ...instances.map((one) => one.record())] });
		await using diplomat = createDiplomat({ source, ejectAfterFailures: 0 });
		const ledger = new LeaseLedger(diplomat);
		const { spockInterceptor } = await import('./index.ts');
		const agent = new undici.Agent() as unknown as Dispatcher;
		const wrong = agent.compose(
			undici.interceptors.retry(RETRIES),
			spockInterceptor({ diplomat, connectRetriesMax: 0 }),
		);
		const replies = await Promise.allSettled([1, 2].map(() => undici.get(URL, { dispatcher: wrong })));
		expect(replies.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
		// The documents say how one sees it: nobody names the instance of what is not the first try.
		const rejected = replies.find(({ status }) => status === 'rejected') as PromiseRejectedResult;
		expect(rejected.reason).toMatchObject({ code: 'ECONNREFUSED' });
		expect(rejected.reason).not.toHaveProperty('service');
		expect(ledger.outcomes.sort()).toEqual(['failure', 'success']);
		await agent.close();
	});
});

describe.each(clients)('retry of Spock around $name', (client) => {
	it('goes to another instance each time', async () => {
		await using instances = await startInstances(1);
		const refusing = await Promise.all(['web-8', 'web-9'].map(refusingInstance));
		const source = new ScriptedSource({ barista: [...refusing, ...instances.map((one) => one.record())] });
		await using diplomat = createDiplomat({ source, policy: 'random', ejectAfterFailures: 0 });
		const dispatcher = ready(client, diplomat);
		for (let turn = 0; turn < 10; turn++) {
			expect((await retry(() => client.get(URL, { dispatcher }))).text).toBe('web-1');
		}
		await dispatcher.close();
	});
});
