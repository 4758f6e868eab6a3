import { createDiplomat } from '@spock/client';
import { makeAuthority } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { type Client, clients, composed, type Dispatcher, ready } from '../test/clients.ts';
import { ScriptedSource, TestInstance } from '../test/instances.ts';
import { LeaseLedger } from '../test/leases.ts';

const ways = clients.flatMap((client) =>
	Object.entries({ dispatcher: ready, interceptor: composed }).map(([way, make]) => ({ client, way, make })),
);
const authority = makeAuthority();
const agentOptions = { connect: { ca: authority.ca } };

async function using(dispatcher: Dispatcher, get: (dispatcher: Dispatcher) => Promise<unknown>): Promise<void> {
	await get(dispatcher);
	await dispatcher.close();
}

function causeOf(client: Client, error: unknown): unknown {
	return client.name.endsWith('fetch') ? (error as Error).cause : error;
}

describe.each(ways)('$client.name by the $way', ({ client, make }) => {
	it('an instance with an IPv6 address is called', async () => {
		await using instance = await TestInstance.start('web-6', { host: '::1' });
		await using diplomat = createDiplomat({ source: new ScriptedSource({ barista: [instance.record()] }) });
		await using(make(client, diplomat), async (dispatcher) => {
			expect((await client.get('http://barista.spock/', { dispatcher })).text).toBe('web-6');
		});
		expect(instance.received).toMatchObject([{ host: `[::1]:${instance.port}` }]);
	});

	it('an instance with a DNS name is called, and named where it refuses', async () => {
		await using instance = await TestInstance.start('web-1');
		const source = new ScriptedSource({ barista: [instance.record('localhost')] });
		await using diplomat = createDiplomat({ source });
		await using(make(client, diplomat), async (dispatcher) => {
			expect((await client.get('http://barista.spock/', { dispatcher })).text).toBe('web-1');
			expect(instance.received).toMatchObject([{ host: `localhost:${instance.port}` }]);
			source.set('barista', [instance.record('no-such-host.invalid')]);
			const error = await client
				.get('http://barista.spock/', { dispatcher })
				.catch((one: unknown) => causeOf(client, one));
			expect(error).toMatchObject({
				service: 'barista',
				instance: 'web-1',
				code: expect.stringMatching(/ENOTFOUND|EAI_AGAIN/),
			});
		});
	});

	it('keeps the Host header by option, and one that the caller gives always', async () => {
		await using instance = await TestInstance.start('web-1');
		await using diplomat = createDiplomat({ source: new ScriptedSource({ barista: [instance.record()] }) });
		await using(make(client, diplomat, { keepHost: true }), async (dispatcher) => {
			await client.get('http://barista.spock/', { dispatcher, headers: { 'x-cup': 'large' } });
			await client.get('http://Barista.spock:8080/', { dispatcher });
			if (client.name.endsWith('request')) {
				await client.get('http://barista.spock/', { dispatcher, headers: { Host: 'mine.test' } });
			}
		});
		const hosts = instance.received.map(({ host }) => host);
		expect(hosts.slice(0, 2)).toEqual(['barista.spock', 'barista.spock:8080']);
		if (hosts.length > 2) expect(hosts[2]).toBe('mine.test');
	});

	it('in TLS the certificate must be for the instance’s host, or for the server name that is given', async () => {
		const tls = authority.issue({ names: ['localhost', 'barista.internal'] });
		await using instance = await TestInstance.start('web-1', { tls });
		const source = new ScriptedSource({ barista: [instance.record('localhost')] });
		await using diplomat = createDiplomat({ source, ejectAfterFailures: 0 });
		const ledger = new LeaseLedger(diplomat);
		const url = 'https://barista.spock/';
		await using(make(client, diplomat, { agentOptions }), (dispatcher) => client.get(url, { dispatcher }));
		const fixed = make(client, diplomat, { agentOptions, servername: 'barista.internal' });
		await using(fixed, (dispatcher) => client.get(url, { dispatcher }));
		const computed = make(client, diplomat, {
			agentOptions,
			servername: ({ service }, { instance: name }) => (name === 'web-1' ? `${service}.internal` : 'wrong'),
			keepHost: true,
		});
		await using(computed, (dispatcher) => client.get(url, { dispatcher }));
		expect(instance.received.map(({ servername }) => servername)).toEqual([
			'localhost',
			'barista.internal',
			'barista.internal',
		]);
		expect(instance.received.at(-1)).toMatchObject({ host: 'barista.spock' });
		expect(ledger.outcomes).toEqual(Array(3).fill('success'));
	});

	it('a certificate that does not fit, or that nobody trusts, is a failure that names the instance', async () => {
		const tls = authority.issue({ names: ['somebody.else'] });
		await using instance = await TestInstance.start('web-1', { tls });
		await using diplomat = createDiplomat({ source: new ScriptedSource({ barista: [instance.record('localhost')] }) });
		const ledger = new LeaseLedger(diplomat);
		const cases = { ERR_TLS_CERT_ALTNAME_INVALID: { agentOptions }, UNABLE_TO_VERIFY_LEAF_SIGNATURE: {} };
		for (const [code, options] of Object.entries(cases)) {
			const dispatcher = make(client, diplomat, options);
			const failed = client.get('https://barista.spock/', { dispatcher });
			const error = await failed.catch((one: unknown) => causeOf(client, one));
			expect(error).toMatchObject({ code, service: 'barista', instance: 'web-1' });
			await dispatcher.close();
		}
		expect(instance.received).toEqual([]);
		const failures = ledger.outcomes.filter((outcome) => outcome === 'failure');
		expect([ledger.open, failures.length]).toEqual([0, 2]);
	});

	it('TLS to an instance that speaks none is a failure that says so', async () => {
		await using instance = await TestInstance.start('web-1');
		await using diplomat = createDiplomat({ source: new ScriptedSource({ barista: [instance.record()] }) });
		const dispatcher = make(client, diplomat);
		const failed = client.get('https://barista.spock/', { dispatcher });
		const error = (await failed.catch((one: unknown) => causeOf(client, one))) as Error;
		expect(error.message).toMatch(/^the instance "web-1" .* of "barista": it does not speak TLS: /);
		await dispatcher.close();
	});

	it('a server name function that throws fails the request, and leaves no lease behind', async () => {
		await using instance = await TestInstance.start('web-1');
		await using diplomat = createDiplomat({ source: new ScriptedSource({ barista: [instance.record()] }) });
		const ledger = new LeaseLedger(diplomat);
		const dispatcher = make(client, diplomat, {
			servername: () => {
				throw new Error('no name');
			},
		});
		for (let turn = 0; turn < 2; turn++) {
			const failed = client.get('https://barista.spock/', { dispatcher });
			const error = (await failed.catch((one: unknown) => one)) as Error;
			expect([error.message, (error.cause as Error | undefined)?.message]).toContain('no name');
		}
		expect([ledger.open, ledger.outcomes]).toEqual([0, ['cancelled', 'cancelled']]);
		await dispatcher.close();
	});
});

// fetch takes no server name.
describe.each(ways.filter(({ client }) => client.name.endsWith('request')))(
	'$client.name by the $way',
	({ client, make }) => {
		it('a server name that the caller gives goes before that of the options', async () => {
			const tls = authority.issue({ names: ['mine.internal'] });
			await using instance = await TestInstance.start('web-1', { tls });
			await using diplomat = createDiplomat({ source: new ScriptedSource({ barista: [instance.record()] }) });
			const dispatcher = make(client, diplomat, { agentOptions, servername: 'barista.internal' });
			await using(dispatcher, () => client.get('https://barista.spock/', { dispatcher, servername: 'mine.internal' }));
			expect(instance.received).toMatchObject([{ servername: 'mine.internal' }]);
		});
	},
);
