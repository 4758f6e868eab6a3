import { createDiplomat, type Diplomat } from '@spock/client';
import { consulSource, dnsSource, localSource } from '@spock/discovery';
import { FakeDns, startFakeConsul, startSidecar, tempSocket, waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

/** What an app does, whichever line made its client. */
async function useDiplomat(diplomat: Diplomat): Promise<unknown> {
	await diplomat.ready();
	const { host, port } = await diplomat.getService('barista');
	const { instances, source, ageMs } = await diplomat.getInstances('barista');
	const unknown = await diplomat.getService('nobody').catch((error: { code: string }) => error.code);
	const missing = await diplomat.getInstances('nobody');
	const keyed = [
		await diplomat.getService('barista', { key: 'a' }),
		await diplomat.getService('barista', { key: 'a' }),
	];
	const watch = diplomat.watchService('barista');
	const first = await watch.next();
	await watch.return?.();
	const explained = await diplomat.explain('barista');
	return {
		address: `${host}:${port}`,
		places: instances.map((one) => `${one.host}:${one.port} ${one.status} ${one.weight}`),
		source,
		ageMs,
		unknown,
		missing: missing.instances,
		sameForKey: keyed[0]?.port === keyed[1]?.port,
		picked: diplomat.pick('barista')?.host,
		watched: first.value?.instances.length,
		explained: explained.instances.map(({ included }) => included),
		tookMs: (await diplomat.ping()) >= 0,
	};
}

const EXPECTED = {
	address: '10.0.0.1:80',
	places: ['10.0.0.1:80 passing 1'],
	source: 'live',
	ageMs: 0,
	unknown: 'NO_SUCH_SERVICE',
	missing: [],
	sameForKey: true,
	picked: '10.0.0.1',
	watched: 1,
	explained: [true],
	tookMs: true,
};

describe('one line changes where an app’s services come from', () => {
	it('the sidecar', async () => {
		await using fake = await startFakeConsul();
		fake.set('barista', [{ id: 'b1', address: '10.0.0.1', port: 80 }]);
		await using place = await tempSocket();
		await using _sidecar = await startSidecar(place.path, ['--consul', fake.url]);
		await using diplomat = createDiplomat({ path: place.path });
		expect(await useDiplomat(diplomat)).toEqual(EXPECTED);
	});

	it('Consul', async () => {
		await using fake = await startFakeConsul();
		fake.set('barista', [{ id: 'b1', address: '10.0.0.1', port: 80 }]);
		await using diplomat = createDiplomat({ source: consulSource({ addresses: [fake.url] }) });
		expect(await useDiplomat(diplomat)).toEqual(EXPECTED);
		expect(diplomat.status()).toMatchObject({ source: 'consul', state: 'ready', address: null, fallback: null });
	});

	it('services that are given', async () => {
		const source = await localSource({ services: { barista: [{ host: '10.0.0.1', port: 80 }] } });
		await using diplomat = createDiplomat({ source });
		expect(await useDiplomat(diplomat)).toEqual(EXPECTED);
	});

	it('DNS', async () => {
		await using dns = await FakeDns.listen();
		dns.setService('barista.service.consul', ['10.0.0.1:80']);
		await using diplomat = createDiplomat({ source: dnsSource({ servers: [dns.address] }) });
		expect(await useDiplomat(diplomat)).toEqual(EXPECTED);
		await expect(diplomat.listServices()).rejects.toMatchObject({ code: 'UNKNOWN_FUNC' });
	});

	it('a client that is drained or closed closes its source, and asks no more', async () => {
		await using dns = await FakeDns.listen();
		for (const end of ['drain', 'close'] as const) {
			dns.setService('barista.service.consul', ['10.0.0.1:80']);
			const diplomat = createDiplomat({ source: dnsSource({ servers: [dns.address], ttlMsMin: 1 }) });
			await diplomat.getService('barista');
			await waitFor('more questions', () => dns.questions.length > 3);
			await diplomat[end]();
			await expect(diplomat.getService('barista')).rejects.toMatchObject({ code: 'CLOSED' });
			expect(await diplomat.closed).toEqual({ reason: end });
			// What was on its way has come before what somebody else asks later.
			const answered = async (): Promise<number> => {
				await using other = createDiplomat({ source: dnsSource({ servers: [dns.address] }) });
				await other.getInstances('marker');
				return dns.questions.filter(({ name }) => name.startsWith('barista')).length;
			};
			const asked = await answered();
			expect(await answered()).toBe(asked);
		}
	});
});
