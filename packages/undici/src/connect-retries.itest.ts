import { createDiplomat } from '@spock/client';
import { describe, expect, it } from 'vitest';

import { clients, composed, ready } from '../test/clients.ts';
import { refusingInstance, ScriptedSource, startInstances, type TestInstance } from '../test/instances.ts';
import { LeaseLedger } from '../test/leases.ts';

const ways = clients.flatMap((client) =>
	Object.entries({ dispatcher: ready, interceptor: composed }).map(([way, make]) => ({ client, way, make })),
);
const URL = 'http://barista.spock/';

/** So many instances of which only the last one does not refuse. */
async function oneOf(count: number) {
	const instances = await startInstances(1);
	const refusing = await Promise.all(
		Array.from({ length: count - 1 }, (_, index) => refusingInstance(`web-${index + 2}`)),
	);
	const source = new ScriptedSource({ barista: [...refusing, ...instances.map((one) => one.record())] });
	const diplomat = createDiplomat({ source, ejectAfterFailures: 0 });
	const [well = expect.unreachable()] = instances;
	return {
		well,
		diplomat,
		ledger: new LeaseLedger(diplomat),
		[Symbol.asyncDispose]: async () => {
			await diplomat.close();
			await instances[Symbol.asyncDispose]();
		},
	};
}

describe.each(ways)('a refused connection, $client.name by the $way', ({ client, make }) => {
	it('is tried at another instance, whatever the method and the body, and counts against the first', async () => {
		await using place = await oneOf(3);
		const { well, diplomat, ledger } = place;
		well.answer = (request, response) => request.pipe(response);
		const dispatcher = make(client, diplomat);
		const bodies = () => [
			['POST', 'a cup'],
			['PUT', Buffer.from('a cup')],
			['POST', new Blob(['a cup']).stream()],
			['DELETE', undefined],
			['GET', undefined],
		];
		for (const [method, body] of bodies()) {
			const init = { dispatcher, method, ...(body !== undefined && { body, duplex: 'half' }) };
			const { status, text } = await client.get(URL, init as Parameters<typeof client.get>[1]);
			expect([method, status, text]).toEqual([method, 200, body === undefined ? '' : 'a cup']);
		}
		expect(well.received).toHaveLength(5);
		expect(ledger.open).toBe(0);
		expect(ledger.outcomes.filter((outcome) => outcome === 'success')).toHaveLength(5);
		expect(ledger.outcomes).toContain('failure');
		expect(ledger.outcomes).not.toContain('cancelled');
		await dispatcher.close();
	});

	it('is tried at as many more as connectRetriesMax says, and ends with the error of the last one', async () => {
		for (const [connectRetriesMax, tried] of [
			[undefined, 3],
			[1, 2],
			[0, 1],
			[100, 4],
		] as const) {
			const refusing = await Promise.all(['web-1', 'web-2', 'web-3', 'web-4'].map(refusingInstance));
			await using diplomat = createDiplomat({
				source: new ScriptedSource({ barista: refusing }),
				ejectAfterFailures: 0,
			});
			const ledger = new LeaseLedger(diplomat);
			const dispatcher = make(client, diplomat, connectRetriesMax === undefined ? {} : { connectRetriesMax });
			const error = await client.get(URL, { dispatcher }).catch((thrown) => (thrown.code ? thrown : thrown.cause));
			expect(error).toMatchObject({
				code: 'ECONNREFUSED',
				service: 'barista',
				instance: expect.stringMatching(/^web-\d$/),
			});
			expect(ledger.outcomes.filter((outcome) => outcome === 'failure')).toHaveLength(tried);
			expect(ledger.open).toBe(0);
			await dispatcher.close();
		}
	});
});

describe.each(ways)('a connection that is lost before an answer, $client.name by the $way', ({ client, make }) => {
	/** Three instances, all of which do this to a request; what each has received, after one request. */
	async function receivedBy(
		answer: TestInstance['answer'],
		init: object = {},
		options: { readonly lostRetriesMax?: number } = {},
	): Promise<number> {
		await using instances = await startInstances(3);
		for (const instance of instances) instance.answer = answer;
		const source = new ScriptedSource({ barista: instances.map((one) => one.record()) });
		await using diplomat = createDiplomat({ source });
		const ledger = new LeaseLedger(diplomat);
		const dispatcher = make(client, diplomat, options);
		await expect(client.get(URL, { dispatcher, ...init })).rejects.toThrow();
		expect(ledger.open).toBe(0);
		await dispatcher.close();
		return instances.reduce((sum, { received }) => sum + received.length, 0);
	}
	const kill: TestInstance['answer'] = (request) => request.socket.resetAndDestroy();

	it('goes to another instance if it is a safe request without a body: an instance that is killed fails no GET', async () => {
		await using instances = await startInstances(2);
		const source = new ScriptedSource({ barista: instances.map((one) => one.record()) });
		await using diplomat = createDiplomat({ source });
		const ledger = new LeaseLedger(diplomat);
		const dispatcher = make(client, diplomat);
		const [killed = expect.unreachable(), other = expect.unreachable()] = instances;
		killed.answer = kill;
		for (let turn = 0; turn < 4; turn++) {
			const { status, text } = await client.get(URL, { dispatcher });
			expect([status, text]).toEqual([200, other.name]);
		}
		expect(killed.received.length).toBeGreaterThan(0);
		expect(ledger.outcomes.filter((outcome) => outcome === 'failure')).toHaveLength(killed.received.length);
		expect(ledger.open).toBe(0);
		await dispatcher.close();
	});

	it('goes to one more instance, or as many as lostRetriesMax allows: such a request may be what kills them', async () => {
		expect(await receivedBy(kill)).toBe(2);
		expect(await receivedBy(kill, {}, { lostRetriesMax: 2 })).toBe(3);
		expect(await receivedBy(kill, {}, { lostRetriesMax: 0 })).toBe(1);
	});

	it('fails a request that may have been carried out: one with a body, or of another method', async () => {
		for (const init of [{ method: 'POST', body: 'a cup' }, { method: 'POST' }, { method: 'DELETE' }]) {
			expect(await receivedBy(kill, init)).toBe(1);
		}
	});

	it('fails a request whose answer has begun', async () => {
		const begin: TestInstance['answer'] = (request) => {
			request.socket.write('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab', () => request.socket.destroy());
		};
		expect(await receivedBy(begin)).toBe(1);
	});
});
