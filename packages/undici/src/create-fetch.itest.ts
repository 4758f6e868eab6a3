import { createDiplomat } from '@spock/client';
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
