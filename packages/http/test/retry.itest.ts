import { retry } from '@spock/client/integrations';
import { DiscoveryAgent } from '@spock/http';
import { waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { startInstance } from './http-instance.ts';
import { scriptedService } from './scripted-service.ts';
import { send } from './send.ts';

describe('retry', () => {
	it('asks another instance after an error, and after a status that says so', async () => {
		await using hangsUp = await startInstance('web-1', { handle: (request) => request.socket.destroy() });
		await using busy = await startInstance('web-2', {
			handle: (_request, response) => {
				response.statusCode = 503;
				response.end();
			},
		});
		await using web = await startInstance('web-3');
		await using service = scriptedService('web');
		service.set([hangsUp, busy, web]);
		const agent = new DiscoveryAgent({ diplomat: service.diplomat });
		for (let turn = 0; turn < 9; turn++) {
			const { status } = await retry(
				async () => {
					const answer = await send('http://web.spock/', { agent });
					if (answer.status === 503) throw new Error('busy');
					return answer;
				},
				{ isRetryable: () => true },
			);
			expect(status).toBe(200);
		}
		expect(web.requests).toBe(9);
		expect(service.open()).toBe(0);
		agent.destroy();
	});

	it('leaves out an instance that took the caller too long', async () => {
		await using slow = await startInstance('web-1', { handle: () => undefined });
		await using web = await startInstance('web-2');
		// By itself it takes the first every time.
		await using service = scriptedService('web', { policy: 'random', random: () => 0, ejectAfterFailures: 0 });
		service.set([slow, web]);
		const agent = new DiscoveryAgent({ diplomat: service.diplomat });
		const { body } = await retry(
			(attempt) => send('http://web.spock/', { agent, ...(attempt === 0 && { signal: AbortSignal.timeout(200) }) }),
			{ isRetryable: () => true },
		);
		expect(JSON.parse(body)).toMatchObject({ id: 'web-2' });
		agent.destroy();
	});

	it('takes a new connection after two requests were reset on idle ones, which servers seem to close', async () => {
		const served = new WeakSet<object>();
		await using web = await startInstance('web-1', {
			handle: ({ socket }, response) => {
				if (served.has(socket)) socket.destroy();
				else response.end('served');
				served.add(socket);
			},
		});
		await using service = scriptedService('web', { ejectAfterFailures: 0 });
		service.set([web]);
		const agent = new DiscoveryAgent({ diplomat: service.diplomat });
		await Promise.all(Array.from({ length: 8 }, () => send('http://web.spock/', { agent })));
		expect(web.connections).toBe(8);
		const reset = { code: 'ECONNRESET' };
		// Without it a connection that is kept is used.
		await expect(send('http://web.spock/', { agent })).rejects.toMatchObject(reset);
		await expect(retry(() => send('http://web.spock/', { agent }), { retriesMax: 1 })).rejects.toMatchObject(reset);
		const { body } = await retry(() => send('http://web.spock/', { agent }), { retriesMax: 2 });
		expect(body).toBe('served');
		// Three were reset before, and two now; of the eight, three were left.
		expect(web.connections).toBe(9);
		agent.destroy();
	});

	it('a status of failure is one of the instance, and its own isFailure goes before', async () => {
		await using web = await startInstance('web-1', {
			handle: (request, response) => {
				response.statusCode = Number(request.url?.slice(1));
				response.end();
			},
		});
		await using service = scriptedService('web', { ejectAfterFailures: 0 });
		service.set([web]);
		const agent = new DiscoveryAgent({ diplomat: service.diplomat });
		for (const status of [200, 404, 500, 502, 503, 504]) await send(`http://web.spock/${status}`, { agent });
		await waitFor('the releases', () => service.open() === 0);
		expect(service.outcomes()).toEqual(['success', 'success', 'success', 'failure', 'failure', 'failure']);
		const strict = new DiscoveryAgent({
			diplomat: service.diplomat,
			isFailure: ({ statusCode }) => statusCode === 500,
		});
		for (const status of [500, 503]) await send(`http://web.spock/${status}`, { agent: strict });
		expect(service.outcomes().slice(6)).toEqual(['failure', 'success']);
		agent.destroy();
		strict.destroy();
	});
});
