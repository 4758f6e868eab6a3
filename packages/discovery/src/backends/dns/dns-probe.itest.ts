import { FakeDns, waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { dnsBackend } from './dns-backend.ts';
import type { DnsBackendOptions } from './dns-options.ts';

/** Short, so that a change is seen soon; what is asked of a server does not depend on it. */
const FAST: DnsBackendOptions = { nameTemplate: '{service}.test', ttlMsMin: 20, random: () => 0 };

describe('a name server', () => {
	it('is asked for a sign of life by what its names end with, and stops when its caller does', async () => {
		await using dns = await FakeDns.listen();
		for (const [nameTemplate, name] of [
			['{service}.test', 'test'],
			['{service}', '.'],
		] as const) {
			const backend = dnsBackend({ ...FAST, nameTemplate, servers: [dns.address] });
			await backend.probe?.({ signal: new AbortController().signal });
			expect(dns.questions.at(-1)).toMatchObject({ name, type: 'SOA' });
			expect(backend.status()).toMatchObject({ state: 'up', error: null });
			await backend.close();
		}
		dns.fault = 'silent';
		const backend = dnsBackend({ ...FAST, servers: [dns.address] });
		const stop = new AbortController();
		const probe = backend.probe?.({ signal: stop.signal });
		stop.abort();
		await expect(probe).rejects.toMatchObject({ code: 'ABORTED' });
		expect(backend.status()).toMatchObject({ state: 'connecting', error: null });
		await backend.close();
		expect(() => backend.watch({ service: 'barista' }, { answered: () => undefined, failed: () => undefined })).toThrow(
			expect.objectContaining({ code: 'CLOSED' }),
		);
	});

	it('that does not say for how long there is no such name is asked again in time', async () => {
		await using dns = await FakeDns.listen();
		dns.negativeTtl = undefined;
		const backend = dnsBackend({ ...FAST, servers: [dns.address], negativeTtlMsMax: 30 });
		const answers: (string | undefined)[] = [];
		backend.watch(
			{ service: 'barista' },
			{ answered: ([first]) => answers.push(first?.host), failed: () => undefined },
		);
		await waitFor('it to be asked again', () => answers.length > 1);
		expect(answers.at(-1)).toBeUndefined();
		dns.setService('barista.test', ['10.0.0.1:80']);
		await waitFor('the service', () => answers.at(-1) === '10.0.0.1');
		await backend.close();
	});
});
