import { fileURLToPath } from 'node:url';

import { spawnProcess, startSidecar, tempSocket, waitFor } from '@spock/testkit';
import { expect, it } from 'vitest';

const program = (name: string): string => fileURLToPath(new URL(`./${name}.js`, import.meta.url));

it('the waiter fetches from the barista by its name, says why it cannot, and both leave in order', async () => {
	await using place = await tempSocket();
	await using _sidecar = await startSidecar(place.path, ['--backend', 'local', '--advertise', '127.0.0.1']);
	const env = { SPOCK_SOCKET: place.path, PORT: '0' };
	await using waiter = spawnProcess(process.execPath, [program('waiter')], { env });
	const url = await waitFor('the waiter', () => /http:\S+/.exec(waiter.stdout())?.[0]);
	const alone = await fetch(url);
	expect([alone.status, await alone.json()]).toMatchObject([503, { error: 'NO_SUCH_SERVICE' }]);

	await using barista = spawnProcess(process.execPath, [program('barista')], { env });
	await waitFor('the barista', () => barista.stdout().includes('barista is registered'));
	const menu = await waitFor('the menu', async () => {
		const answer = await fetch(url);
		return answer.ok && answer.json();
	});
	expect(menu).toEqual({ drinks: ['espresso', 'cortado', 'flat white'] });
	expect((await barista.stop('SIGTERM')).exitCode).toBe(0);
	expect((await waiter.stop('SIGTERM')).exitCode).toBe(0);
});
