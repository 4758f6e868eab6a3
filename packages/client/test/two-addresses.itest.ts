import dns from 'node:dns';

import { connect, createDiplomat } from '@spock/client';
import { instanceError } from '@spock/client/integrations';
import { openUpstream } from '@spock/client/upstream';
import { freePort, waitFor } from '@spock/testkit';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

const NAME = 'two.test';

beforeEach(() => {
	const { lookup } = dns;
	const both = [
		{ address: '127.0.0.1', family: 4 },
		{ address: '::1', family: 6 },
	];
	vi.spyOn(dns, 'lookup').mockImplementation(((name: string, options: object, found: (...all: unknown[]) => void) => {
		if (name === NAME) setImmediate(found, null, both);
		else lookup(name, options, found);
	}) as unknown as typeof dns.lookup);
});

afterEach(() => {
	vi.restoreAllMocks();
});

describe('a name whose two addresses both refuse', () => {
	it('is one at which no process listens', async () => {
		const port = await freePort();
		const error = await connect({ host: NAME, port, readyTimeoutMs: 300, retryDelayMsMin: 50 }).catch(
			(reason: unknown) => reason,
		);
		expect(error).toMatchObject({
			code: 'TIMEOUT',
			message: expect.stringContaining('no process listens there: start a sidecar'),
			details: { found: 'not listening' },
			cause: { message: `connect ECONNREFUSED 127.0.0.1:${port}; connect ECONNREFUSED ::1:${port}` },
		});
	});

	it('shows both errors in the state of a client', async () => {
		const port = await freePort();
		await using diplomat = createDiplomat({ host: NAME, port, retryDelayMsMin: 50 });
		const reason = await waitFor('an error', () => diplomat.status().lastError ?? undefined);
		expect(reason).toBe(`connect ECONNREFUSED 127.0.0.1:${port}; connect ECONNREFUSED ::1:${port}`);
	});

	it('shows both errors of an upstream', async () => {
		const port = await freePort();
		const address = { host: NAME, port };
		const upstream = openUpstream({
			places: [{ name: `${NAME}:${port}`, address }],
			sidecar: 'a',
			retryDelayMsMin: 50,
		});
		const reason = await waitFor('an error', () => upstream.places()[0]?.error ?? undefined);
		expect(reason).toBe(`connect ECONNREFUSED 127.0.0.1:${port}; connect ECONNREFUSED ::1:${port}`);
		expect(upstream.whyNotReady()).toContain(`${NAME}:${port}: connect ECONNREFUSED 127.0.0.1:${port}; `);
		await upstream.close();
	});

	it('shows both errors of an instance', async () => {
		const port = await freePort();
		const cause = await fetch(`http://${NAME}:${port}/`).catch((reason: unknown) => reason);
		const { message } = instanceError({ service: 'api' }, { instance: 'a', host: NAME, port } as never, cause);
		expect(message).toContain(`connect ECONNREFUSED 127.0.0.1:${port}; connect ECONNREFUSED ::1:${port}`);
	});
});
