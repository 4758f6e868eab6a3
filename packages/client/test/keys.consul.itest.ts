import { connect, createDiplomat, type Diplomat } from '@spock/client';
import { BackendSource, consulBackend } from '@spock/discovery';
import { findConsul, type RealConsul, startConsul, startSidecar, tempSocket, waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

const binary = findConsul(process.env);

async function put(consul: RealConsul, key: string, value: string): Promise<void> {
	const response = await fetch(`${consul.url}/v1/kv/${encodeURIComponent(key)}`, { method: 'PUT', body: value });
	if (!response.ok) throw new Error(`PUT ${key}: ${response.status}`);
}

function parseLimits(text: string): { readonly max: number } {
	const { max } = JSON.parse(text) as { max: unknown };
	if (typeof max !== 'number') throw new Error('max must be a number');
	return { max };
}

/** The same story through a sidecar and without one. */
async function tellStory(consul: RealConsul, diplomat: Diplomat): Promise<void> {
	const errors: string[] = [];
	const limits = diplomat.config('app/limits', {
		parse: parseLimits,
		default: { max: 1 },
		onError: ({ code }) => errors.push(code),
	});
	expect(limits.value).toEqual({ max: 1 });
	await limits.ready();
	expect(limits).toMatchObject({ value: { max: 1 }, source: 'default' });
	const all = await diplomat.config('app/', { prefix: true }).ready();
	await put(consul, 'app/limits', '{"max":5}');
	await waitFor('the value', () => limits.value.max === 5);
	expect(limits).toMatchObject({ source: 'live', ageMs: 0 });
	await put(consul, 'app/limits', '{"max":"many"}');
	await waitFor('the report', () => limits.error?.code === 'BAD_VALUE');
	expect(limits.value).toEqual({ max: 5 });
	await put(consul, 'app/limits', '{"max":6}');
	await waitFor('the good value', () => limits.value.max === 6);
	expect(errors).toEqual(['BAD_VALUE']);
	await waitFor('the map', () => all.value.get('app/limits') === '{"max":6}');

	await consul.kill();
	await waitFor('the outage', () => limits.source === 'last-known-good');
	expect(limits.value).toEqual({ max: 6 });
	const { ageMs } = limits;
	await waitFor('the age to grow', () => limits.ageMs > ageMs);
	await consul.restart();
	await waitFor('the end of the outage', () => limits.source === 'live', 60_000);
	await put(consul, 'app/limits', '{"max":7}');
	await waitFor('the change after it', () => limits.value.max === 7);
	await waitFor('the map after it', () => all.value.get('app/limits') === '{"max":7}', 60_000);
}

describe('configuration from a real Consul', () => {
	it('through a sidecar: a default, a value, a bad one, an outage of Consul, the death of the sidecar', async () => {
		await using consul = await startConsul({ binary, mode: 'server' });
		await using place = await tempSocket();
		const args = ['--consul', consul.url];
		await using sidecar = await startSidecar(place.path, args);
		await using diplomat = await connect({ path: place.path });
		await tellStory(consul, diplomat);

		const limits = await diplomat.config('app/limits', { parse: parseLimits }).ready();
		await sidecar.stop('SIGKILL');
		await waitFor('the loss', () => limits.source === 'last-known-good');
		expect(limits.value).toEqual({ max: 7 });
		await put(consul, 'app/limits', '{"max":8}');
		await using _second = await startSidecar(place.path, args);
		await waitFor('what was missed', () => limits.value.max === 8, 60_000);
		expect(limits.source).toBe('live');
	});

	it('in direct mode, the same', async () => {
		await using consul = await startConsul({ binary, mode: 'server' });
		const source = new BackendSource({ backend: consulBackend({ addresses: [consul.url] }) });
		await using diplomat = createDiplomat({ source });
		await tellStory(consul, diplomat);
	});
});
