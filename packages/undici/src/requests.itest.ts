import { createDiplomat } from '@spock/client';
import { waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { clients, composed, ready } from '../test/clients.ts';
import { refusingInstance, ScriptedSource, startInstances } from '../test/instances.ts';
import { LeaseLedger } from '../test/leases.ts';

const ways = clients.flatMap((client) =>
	Object.entries({ dispatcher: ready, interceptor: composed }).map(([way, make]) => ({ client, way, make })),
);
const URL = 'http://barista.spock/menu?size=2';

/** The innermost error, that of undici, of what fetch or request rejected with. */
function innermost(error: unknown): Record<string, unknown> {
	const { name, cause } = error as { readonly name: string; readonly cause?: unknown };
	return (name === 'TypeError' && cause !== undefined ? cause : error) as Record<string, unknown>;
}

async function failure(promise: Promise<unknown>): Promise<Record<string, unknown>> {
	return promise.then(
		() => expect.unreachable('it succeeded'),
		(error: unknown) => innermost(error),
	);
}

describe.each(ways)('$client.name by the $way', ({ client, make }) => {
	it('each request goes to the next instance, although connections are kept alive', async () => {
		await using instances = await startInstances(3);
		const source = new ScriptedSource({ barista: instances.map((one) => one.record()) });
		await using diplomat = createDiplomat({ source });
		const ledger = new LeaseLedger(diplomat);
		const dispatcher = make(client, diplomat);
		const texts: string[] = [];
		for (let turn = 0; turn < 9; turn++) {
			const { status, text } = await client.get(URL, { dispatcher });
			expect(status).toBe(200);
			texts.push(text);
		}
		for (const { name, received, sockets, port } of instances) {
			expect(texts.filter((text) => text === name)).toHaveLength(3);
			expect(received[0]).toMatchObject({ path: '/menu?size=2', host: `127.0.0.1:${port}` });
			expect(sockets.size).toBe(1);
		}
		expect(ledger.outcomes).toEqual(Array(9).fill('success'));
		expect(ledger.open).toBe(0);
		await dispatcher.close();
	});

	it('other hosts are left alone', async () => {
		await using instances = await startInstances(1);
		await using diplomat = createDiplomat({ source: new ScriptedSource() });
		const ledger = new LeaseLedger(diplomat);
		const dispatcher = make(client, diplomat);
		const [{ port, received } = expect.unreachable()] = instances;
		expect(await client.get(`http://127.0.0.1:${port}/`, { dispatcher })).toEqual({ status: 200, text: 'web-1' });
		expect(received).toHaveLength(1);
		expect(ledger.outcomes).toEqual([]);
		await dispatcher.close();
	});

	it('an unknown service, one without healthy instances, and a bad name fail with an error that names them', async () => {
		await using instances = await startInstances(1);
		const sick = instances.map((one) => ({ ...one.record(), status: 'critical' as const }));
		await using diplomat = createDiplomat({ source: new ScriptedSource({ sick }) });
		const dispatcher = make(client, diplomat);
		const cases = { nobody: 'NO_SUCH_SERVICE', sick: 'NO_HEALTHY_INSTANCE', 'a.nobody': 'BAD_REQUEST' };
		for (const [name, code] of Object.entries(cases)) {
			const error = await failure(client.get(`http://${name}.spock/`, { dispatcher }));
			expect(error).toMatchObject({ name: 'SpockError', code, message: expect.stringContaining(name) });
		}
		await dispatcher.close();
	});

	it('an instance that refuses, where no other is tried, fails the request with an error that names it, and is ejected', async () => {
		await using instances = await startInstances(1);
		const refusing = await refusingInstance('web-9');
		const source = new ScriptedSource({ barista: [refusing, ...instances.map((one) => one.record())] });
		await using diplomat = createDiplomat({ source, ejectAfterFailures: 2 });
		const ledger = new LeaseLedger(diplomat);
		const dispatcher = make(client, diplomat, { connectRetriesMax: 0 });
		const errors: Record<string, unknown>[] = [];
		for (let turn = 0; turn < 10; turn++) {
			await client.get(URL, { dispatcher }).catch((error: unknown) => errors.push(innermost(error)));
		}
		expect(errors).toHaveLength(2);
		for (const error of errors) {
			expect(error).toMatchObject({ code: 'ECONNREFUSED', service: 'barista', instance: 'web-9' });
			expect(error).toMatchObject({ cause: { name: 'SpockError', code: 'UNAVAILABLE' } });
			const place = `the instance "web-9" (127.0.0.1:${refusing.port}) of "barista"`;
			expect(error['message']).toBe(`${place}: connect ECONNREFUSED 127.0.0.1:${refusing.port}`);
			expect(error['stack']).toContain(place);
		}
		expect(diplomat.status().ejected).toMatchObject([{ instance: 'web-9' }]);
		expect(ledger.open).toBe(0);
		await dispatcher.close();
	});

	it('an instance that hangs is ejected by the time-outs of its callers, and a caller who gives up says nothing', async () => {
		await using instances = await startInstances(2);
		const [hanging = expect.unreachable(), well = expect.unreachable()] = instances;
		let giveUp: () => void = () => undefined;
		hanging.answer = () => giveUp();
		const source = new ScriptedSource({ barista: instances.map((one) => one.record()) });
		await using diplomat = createDiplomat({ source, ejectAfterFailures: 2 });
		const ledger = new LeaseLedger(diplomat);
		const dispatcher = make(client, diplomat);
		/** Calls until the one that hangs has a request, and gives that up with the reason. */
		const hang = async (reason?: unknown): Promise<void> => {
			const given = new AbortController();
			giveUp = () => given.abort(reason);
			while (!given.signal.aborted) {
				await client.get(URL, { dispatcher, signal: given.signal }).catch(() => undefined);
			}
			await waitFor('the end of the lease', () => ledger.open === 0);
		};
		await hang();
		expect(ledger.outcomes.filter((outcome) => outcome !== 'success')).toEqual(['cancelled']);
		// As the signal of AbortSignal.timeout is aborted.
		for (let turn = 0; turn < 2; turn++) await hang(new DOMException('the caller has waited enough', 'TimeoutError'));
		expect(ledger.outcomes.filter((outcome) => outcome !== 'success')).toEqual(['cancelled', 'failure', 'failure']);
		expect(diplomat.status().ejected).toMatchObject([{ instance: hanging.name }]);
		for (let turn = 0; turn < 4; turn++) expect((await client.get(URL, { dispatcher })).text).toBe(well.name);
		await dispatcher.destroy();
	});

	it('502, 503 and 504 are failures of the instance, and other statuses are answers', async () => {
		await using instances = await startInstances(1);
		const [instance = expect.unreachable()] = instances;
		let status = 200;
		instance.answer = (_request, response) => response.writeHead(status).end('x');
		await using diplomat = createDiplomat({ source: new ScriptedSource({ barista: [instance.record()] }) });
		const ledger = new LeaseLedger(diplomat);
		const dispatcher = make(client, diplomat);
		for (status of [200, 404, 500, 501, 502, 503, 504, 505]) {
			expect((await client.get(URL, { dispatcher })).status).toBe(status);
		}
		const [ok, bad] = ['success', 'failure'];
		expect(ledger.outcomes).toEqual([ok, ok, ok, ok, bad, bad, bad, ok]);
		await dispatcher.close();
	});

	it('a connection that breaks within the body is a failure', async () => {
		await using instances = await startInstances(1);
		const [instance = expect.unreachable()] = instances;
		instance.answer = (request, response) => {
			response.writeHead(200, { 'content-length': '100' }).write('some');
			setImmediate(() => request.socket.destroy());
		};
		await using diplomat = createDiplomat({ source: new ScriptedSource({ barista: [instance.record()] }) });
		const ledger = new LeaseLedger(diplomat);
		const dispatcher = make(client, diplomat);
		const error = await failure(client.get(URL, { dispatcher }));
		expect(error).toMatchObject({ service: 'barista', instance: 'web-1' });
		expect(ledger.outcomes).toEqual(['failure']);
		await dispatcher.close();
	});
});
