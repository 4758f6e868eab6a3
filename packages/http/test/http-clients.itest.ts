import type { AgentOptions } from 'node:http';

import type { Diplomat } from '@spock/client';
import { retry } from '@spock/client/integrations';
import { createAgent, type DiscoveryAgent, type DiscoveryHttpsAgent } from '@spock/http';
import { makeAuthority, waitFor } from '@spock/testkit';
import axios from 'axios';
import got from 'got';
import fetchByNode from 'node-fetch';
import superagent from 'superagent';
import { describe, expect, it } from 'vitest';

import { type Echo, startInstance, startInstances } from './http-instance.ts';
import { scriptedService } from './scripted-service.ts';

const authority = makeAuthority();

interface Agents {
	readonly http: DiscoveryAgent;
	readonly https: DiscoveryHttpsAgent;
}

/** One call, as somebody writes it who uses the library. */
interface Client {
	readonly post: (url: string, body: object, agents: Agents) => Promise<Echo>;
	/** A call that the caller's time ends; its error. */
	readonly late: (url: string, agents: Agents) => Promise<unknown>;
	/** A call that the caller ends. */
	readonly abort: (url: string, agents: Agents) => Promise<unknown>;
	/** Where the library keeps the error of the agent. */
	readonly original: (error: unknown) => unknown;
}

const TIME_MS = 100;

const clients: Record<string, Client> = {
	axios: {
		post: async (url, body, { http: httpAgent, https: httpsAgent }) =>
			(await axios.post<Echo>(url, body, { httpAgent, httpsAgent })).data,
		late: (url, { http: httpAgent }) => axios.get(url, { httpAgent, timeout: TIME_MS }).catch(identity),
		abort: (url, { http: httpAgent }) => axios.get(url, { httpAgent, signal: abortSoon() }).catch(identity),
		original: (error) => (error as { cause?: unknown }).cause,
	},
	got: {
		post: (url, json, agent) => got.post(url, { json, agent }).json<Echo>(),
		late: (url, agent) => got(url, { agent, timeout: { request: TIME_MS }, retry: { limit: 0 } }).catch(identity),
		abort: (url, agent) => got(url, { agent, signal: abortSoon(), retry: { limit: 0 } }).catch(identity),
		original: (error) => (error as { cause?: unknown }).cause,
	},
	'node-fetch': {
		post: async (url, body, agents) => {
			const agent = (parsed: URL) => (parsed.protocol === 'https:' ? agents.https : agents.http);
			return (await (await fetchByNode(url, { method: 'POST', body: JSON.stringify(body), agent })).json()) as Echo;
		},
		late: (url, { http: agent }) => fetchByNode(url, { agent, signal: AbortSignal.timeout(TIME_MS) }).catch(identity),
		abort: (url, { http: agent }) => fetchByNode(url, { agent, signal: abortSoon() }).catch(identity),
		original: (error) => error,
	},
	superagent: {
		post: async (url, body, { http, https }) => {
			const call = superagent.post(url).agent(url.startsWith('https:') ? https : http);
			return (await call.ca(authority.ca).send(body)).body as Echo;
		},
		late: async (url, { http }) => superagent.get(url).agent(http).timeout(TIME_MS).catch(identity),
		abort: (url, { http }) =>
			new Promise((resolve) => {
				const call = superagent.get(url).agent(http);
				call.on('abort', () => resolve(undefined)).end(() => undefined);
				setTimeout(() => call.abort(), TIME_MS);
			}),
		original: (error) => error,
	},
};

function identity(error: unknown): unknown {
	return error;
}

function abortSoon(): AbortSignal {
	const stop = new AbortController();
	setTimeout(() => stop.abort(), TIME_MS);
	return stop.signal;
}

function agentsOf(diplomat: Diplomat, options: AgentOptions = {}): Agents & Disposable {
	const made = createAgent({ diplomat, ca: authority.ca, ...options });
	return { http: made.httpAgent, https: made.httpsAgent, [Symbol.dispose]: made.destroy };
}

describe.each(Object.keys(clients))('%s', (name) => {
	const client = clients[name] as Client;

	it.each(['http', 'https'] as const)('is balanced request by request over %s', async (protocol) => {
		const certificate = protocol === 'https' ? { certificate: authority.issue() } : {};
		await using web = await startInstances(3, certificate);
		await using service = scriptedService('web');
		service.set(web);
		using agents = agentsOf(service.diplomat);
		for (let turn = 0; turn < 9; turn++) {
			const echo = await client.post(`${protocol}://web.spock/order`, { cups: turn }, agents);
			expect(echo).toMatchObject({ method: 'POST', body: JSON.stringify({ cups: turn }) });
			expect(echo.host).toBe(`127.0.0.1:${web.find(({ id }) => id === echo.id)?.port}`);
		}
		expect(web.map(({ requests }) => requests)).toEqual([3, 3, 3]);
		expect(web.map(({ connections }) => connections)).toEqual([1, 1, 1]);
		await waitFor('the releases', () => service.open() === 0);
		expect(new Set(service.outcomes())).toEqual(new Set(['success']));
	});

	it('gives the error of the client within its own', async () => {
		await using service = scriptedService('web');
		using agents = agentsOf(service.diplomat);
		const error = await client.post('http://nobody.spock/', {}, agents).catch(identity);
		expect(client.original(error)).toMatchObject({ code: 'NO_SUCH_SERVICE' });
		expect(String((error as Error).message)).toContain('nobody');
	});

	it('a time-out counts against an instance that hangs, an abort does not', async () => {
		await using web = await startInstance('web-1', { handle: () => undefined });
		await using service = scriptedService('web');
		service.set([web]);
		// These end a request that is late as one that is aborted, and give no reason: a time-out of the agent says it.
		using impatient = agentsOf(service.diplomat, name === 'superagent' || name === 'node-fetch' ? { timeout: 50 } : {});
		using agents = agentsOf(service.diplomat);
		expect(await client.late('http://web.spock/', impatient)).toBeInstanceOf(Error);
		await waitFor('the release', () => service.calls.length === 1 && service.open() === 0);
		await client.abort('http://web.spock/', agents);
		await waitFor('the release', () => service.calls.length === 2 && service.open() === 0);
		expect(service.outcomes()).toEqual(['failure', 'cancelled']);
	});

	it('takes another instance with retry', async () => {
		await using bad = await startInstance('web-1', { handle: (request) => request.socket.destroy() });
		await using web = await startInstance('web-2');
		await using service = scriptedService('web');
		service.set([bad, web]);
		using agents = agentsOf(service.diplomat);
		for (let turn = 0; turn < 4; turn++) {
			expect(await retry(() => client.post('http://web.spock/', {}, agents))).toMatchObject({ id: 'web-2' });
		}
		expect(bad.requests).toBeGreaterThan(0);
	});
});
