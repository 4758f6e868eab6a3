import { createDiplomat } from '@spock/client';
import { describe, expect, it } from 'vitest';

import { refusingInstance, ScriptedSource, startInstances } from '../test/instances.ts';
import { LeaseLedger } from '../test/leases.ts';
import { LeaseFetch } from './lease-fetch.ts';

const URL = 'http://barista.spock/menu?size=2';

/** So many instances, of which some refuse, and a fetch as Bun and Deno have it. */
async function fetchOf({ serving, refusing = 0 }: { readonly serving: number; readonly refusing?: number }) {
	const instances = await startInstances(serving);
	const closed = await Promise.all(
		Array.from({ length: refusing }, (_, index) => refusingInstance(`web-${index + 8}`)),
	);
	const source = new ScriptedSource({ barista: [...closed, ...instances.map((one) => one.record())] });
	const diplomat = createDiplomat({ source, ejectAfterFailures: 0 });
	const ledger = new LeaseLedger(diplomat);
	const fetch = new LeaseFetch({ diplomat });
	return {
		...{ instances, diplomat, ledger, fetch },
		[Symbol.asyncDispose]: async () => {
			await fetch.destroy();
			await diplomat.close();
			await instances[Symbol.asyncDispose]();
		},
	};
}

describe('a fetch without dispatchers', () => {
	it('finds services by name, each request another instance, and other URLs as always', async () => {
		await using place = await fetchOf({ serving: 2 });
		const { fetch, instances, ledger } = place;
		const names: string[] = [];
		for (let turn = 0; turn < 4; turn++) names.push(await (await fetch.fetch(URL)).text());
		expect(names.sort()).toEqual(['web-1', 'web-1', 'web-2', 'web-2']);
		const [{ port, received } = expect.unreachable()] = instances;
		expect(received[0]).toMatchObject({ path: '/menu?size=2', host: `127.0.0.1:${port}` });
		const posted = await fetch.fetch(new Request(URL, { method: 'POST', body: 'a cup' }));
		expect(posted.status).toBe(200);
		expect(await (await fetch.fetch(`http://127.0.0.1:${port}/`)).text()).toBe('web-1');
		expect([ledger.open, ledger.outcomes]).toEqual([0, Array(5).fill('success')]);
	});

	it('tries another instance where one refuses, and ends with an error that names the last', async () => {
		await using place = await fetchOf({ serving: 1, refusing: 2 });
		for (let turn = 0; turn < 6; turn++) {
			expect(await (await place.fetch.fetch(URL, { method: 'POST', body: 'a cup' })).text()).toBe('web-1');
		}
		expect(place.ledger.outcomes).toContain('failure');
		await using none = await fetchOf({ serving: 0, refusing: 4 });
		const details = { service: 'barista', instance: expect.stringMatching(/^web-/) };
		await expect(none.fetch.fetch(URL)).rejects.toMatchObject({
			name: 'TypeError',
			cause: { code: 'UNAVAILABLE', details },
		});
		expect(none.ledger.outcomes).toEqual(Array(3).fill('failure'));
		await expect(none.fetch.fetch('http://nobody.spock/')).rejects.toMatchObject({
			cause: { code: 'NO_SUCH_SERVICE' },
		});
		await expect(none.fetch.fetch('http://a.b.spock/')).rejects.toMatchObject({ cause: { code: 'BAD_REQUEST' } });
	});

	it('tries one more instance where a connection is lost before an answer, if the request may be made twice', async () => {
		await using place = await fetchOf({ serving: 2 });
		const [killed = expect.unreachable(), other = expect.unreachable()] = place.instances;
		killed.answer = (request) => request.socket.resetAndDestroy();
		for (let turn = 0; turn < 4; turn++) expect(await (await place.fetch.fetch(URL)).text()).toBe(other.name);
		expect(killed.received.length).toBeGreaterThan(0);
		other.answer = killed.answer;
		for (const [init, tried] of [
			[{}, 2],
			[{ method: 'POST' }, 1],
		] as const) {
			const before = place.ledger.outcomes.length;
			await expect(place.fetch.fetch(URL, init)).rejects.toMatchObject({ cause: { code: 'UNAVAILABLE' } });
			expect(place.ledger.outcomes.slice(before)).toEqual(Array(tried).fill('failure'));
		}
	});

	it('a caller that gives up says nothing of the instance, a time-out and a 503 do', async () => {
		await using place = await fetchOf({ serving: 1 });
		const { fetch, instances, ledger } = place;
		const [instance = expect.unreachable()] = instances;
		const abort = new AbortController();
		instance.answer = () => abort.abort();
		await expect(fetch.fetch(URL, { signal: abort.signal })).rejects.toMatchObject({ name: 'AbortError' });
		const timeout = new AbortController();
		instance.answer = () => timeout.abort(new DOMException('late', 'TimeoutError'));
		await expect(fetch.fetch(URL, { signal: timeout.signal })).rejects.toMatchObject({ name: 'TimeoutError' });
		instance.answer = (_request, response) => response.writeHead(503).end();
		expect((await fetch.fetch(URL)).status).toBe(503);
		expect([ledger.open, ledger.outcomes]).toEqual([0, ['cancelled', 'failure', 'failure']]);
	});

	it('ends after the requests under way, or with them, and takes no more', async () => {
		await using place = await fetchOf({ serving: 1 });
		const { fetch, instances, ledger } = place;
		const [instance = expect.unreachable()] = instances;
		let closing: Promise<void> | undefined;
		instance.answer = (_request, response) => {
			closing = fetch.close();
			response.end('web-1');
		};
		expect(await (await fetch.fetch(URL)).text()).toBe('web-1');
		await closing;
		await expect(fetch.fetch(URL)).rejects.toMatchObject({ cause: { code: 'CLOSED' } });
		const other = new LeaseFetch({ diplomat: place.diplomat });
		instance.answer = () => void other.destroy(new Error('enough'));
		await expect(other.fetch(URL)).rejects.toThrow('enough');
		expect(ledger.open).toBe(0);
	});

	it.each([{ keepHost: true }, { servername: 'barista' }, { agentOptions: {} }])(
		'refuses what needs one: %j',
		(wrong) => {
			const diplomat = createDiplomat({ source: new ScriptedSource() });
			expect(() => new LeaseFetch({ diplomat, ...wrong })).toThrow('needs the fetch of Node');
			expect(() => new LeaseFetch({ diplomat, sufix: '.x' } as never)).toThrow('sufix');
		},
	);
});
