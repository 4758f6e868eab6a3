import { createDiplomat } from '@spock/client';
import { retry } from '@spock/client/integrations';
import { localSource } from '@spock/discovery';
import { expect, it } from 'vitest';

import { startInstances } from '../test/instances.ts';
import { createFetch } from './index.ts';

it('a fetch of its own finds services by name, and other URLs as always', async () => {
	await using instances = await startInstances(2);
	const barista = [...instances].map(({ name, host, port }) => ({ id: name, host, port }));
	await using diplomat = createDiplomat({ source: await localSource({ services: { barista } }) });
	const fetch = createFetch({ diplomat });
	const names = new Set<string>();
	for (let turn = 0; turn < 4; turn++) names.add(await (await fetch('http://barista.spock/')).text());
	expect([...names].sort()).toEqual(['web-1', 'web-2']);
	const [first = expect.unreachable()] = barista;
	expect(
		await (await fetch(new URL(`http://${first.host}:${first.port}/`), { method: 'POST', body: 'x' })).text(),
	).toBe('web-1');
	await expect(fetch('http://nobody.spock/')).rejects.toMatchObject({ cause: { code: 'NO_SUCH_SERVICE' } });
	await fetch.close();
	await expect(fetch('http://barista.spock/')).rejects.toThrow();
	expect(() => createFetch({} as never)).toThrow(/diplomat/);
});

/** Instances, and a fetch that finds them. */
async function fetchOf(count: number) {
	const instances = await startInstances(count);
	const barista = [...instances].map(({ name, host, port }) => ({ id: name, host, port }));
	const diplomat = createDiplomat({ source: await localSource({ services: { barista } }) });
	return { instances, diplomat, fetch: createFetch({ diplomat }) };
}

it('a refused connection is tried at another instance, whatever the method, as nothing was sent', async () => {
	const { instances, diplomat, fetch } = await fetchOf(3);
	await using _instances = instances;
	await using _diplomat = diplomat;
	await using _fetch = fetch;
	await instances[0]?.[Symbol.asyncDispose]();
	await instances[1]?.[Symbol.asyncDispose]();
	for (const method of ['GET', 'POST', 'PUT', 'DELETE']) {
		const body = method === 'GET' ? null : 'x';
		expect(await (await fetch('http://barista.spock/', { method, body })).text()).toBe('web-3');
	}
	// Also inside of a retry of the app, which keeps to what failed before.
	expect(await retry(async () => (await fetch('http://barista.spock/')).text())).toBe('web-3');
});

it('a body that is a stream too, as nothing of it was read, and what every instance refuses fails as ever', async () => {
	const { instances, diplomat, fetch } = await fetchOf(2);
	await using _instances = instances;
	await using _diplomat = diplomat;
	await using _fetch = fetch;
	await instances[0]?.[Symbol.asyncDispose]();
	const streamed = () => ({ method: 'POST', body: new Blob(['x']).stream(), duplex: 'half' }) as RequestInit;
	for (let turn = 0; turn < 2; turn++) {
		expect(await (await fetch('http://barista.spock/', streamed())).text()).toBe('web-2');
	}
	await instances[1]?.[Symbol.asyncDispose]();
	const failed = { cause: { code: 'ECONNREFUSED', service: 'barista' } };
	await expect(fetch('http://barista.spock/', streamed())).rejects.toMatchObject(failed);
	await expect(fetch('http://barista.spock/')).rejects.toMatchObject(failed);
});
