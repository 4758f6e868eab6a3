import { createDiplomat } from '@spock/client';
import { waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { composed, ready, undicis } from '../test/clients.ts';
import { ScriptedSource, startInstances } from '../test/instances.ts';
import { LeaseLedger } from '../test/leases.ts';

const URL = 'http://barista.spock/';
const ways = undicis.flatMap(([name, undici]) =>
	Object.entries({ dispatcher: ready, interceptor: composed }).map(([way, make]) => ({ name, undici, way, make })),
);

describe.each(ways)('the latency of $name by the $way', ({ name, undici, make }) => {
	it('is the time to the head of the answer, however long its body lasts', async () => {
		await using instances = await startInstances(1);
		const [instance = expect.unreachable()] = instances;
		await using diplomat = createDiplomat({ source: new ScriptedSource({ barista: [instance.record()] }) });
		const ledger = new LeaseLedger(diplomat);
		let end: (() => void) | undefined;
		instance.answer = (_request, response) => {
			response.write('some');
			end = () => response.end();
		};
		const dispatcher = make({ name, Agent: undici.Agent, retry: undefined, get: undici.get }, diplomat);
		await diplomat.getService('barista');
		const startedMs = performance.now();
		const { body } = await undici.request(URL, { dispatcher });
		const answeredMs = performance.now();
		await waitFor('some time', () => performance.now() > answeredMs + 20);
		// A call is under way until its body has ended.
		expect(ledger.open).toBe(1);
		end?.();
		await body.text();
		expect(ledger.outcomes).toEqual(['success']);
		expect(ledger.durationsMs[0]).toBeGreaterThan(0);
		expect(ledger.durationsMs[0]).toBeLessThanOrEqual(answeredMs - startedMs);
		await dispatcher.close();
	});
});
