import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { connect, type Diplomat } from '@spock/client';
import type { ServiceSnapshot } from '@spock/protocol';
import { startSidecar, type TempSocket, tempSocket, waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

interface LocalInstance {
	readonly host: string;
	readonly port: number;
	readonly status?: string;
	readonly tags?: readonly string[];
}

function writeServices(place: TempSocket, services: Record<string, readonly LocalInstance[]>): string {
	const file = join(place.directory, 'services.json');
	// Renamed into place, as careful editors and config maps do.
	writeFileSync(`${file}.new`, JSON.stringify({ services }));
	renameSync(`${file}.new`, file);
	return file;
}

const BARISTA = { barista: [{ host: '1.2.3.4', port: 8765 }] };

async function connectTo(place: TempSocket): Promise<Diplomat> {
	return connect({ path: place.path });
}

describe('Diplomat and a real sidecar', () => {
	it('gets a host and a port, all instances, and the names of all services', async () => {
		await using place = await tempSocket();
		const file = writeServices(place, { ...BARISTA, waiter: [{ host: '10.0.0.1', port: 80, status: 'critical' }] });
		await using _sidecar = await startSidecar(place.path, ['--backend', 'local', '--services', file]);
		await using diplomat = await connectTo(place);
		expect(await diplomat.getService('barista')).toMatchObject({ host: '1.2.3.4', port: 8765 });
		expect(await diplomat.getService('barista', { fresh: true })).toMatchObject({ host: '1.2.3.4', port: 8765 });
		expect((await diplomat.getInstances('waiter')).instances).toMatchObject([{ host: '10.0.0.1', status: 'critical' }]);
		expect((await diplomat.listServices()).services.map(({ name }) => name)).toEqual(['barista', 'waiter']);
		await expect(diplomat.getService('waiter')).rejects.toMatchObject({ code: 'NO_HEALTHY_INSTANCE' });
		await expect(diplomat.getService('nobody')).rejects.toMatchObject({ code: 'NO_SUCH_SERVICE' });
	});

	it('sees an edit of the services file, and keeps what it has when an edit is bad', async () => {
		await using place = await tempSocket();
		const file = writeServices(place, BARISTA);
		await using sidecar = await startSidecar(place.path, [
			'--backend',
			'local',
			'--services',
			file,
			'--log-format',
			'json',
		]);
		await using diplomat = await connectTo(place);
		const seen: ServiceSnapshot[] = [];
		const stop = new AbortController();
		const watching = (async () => {
			for await (const snapshot of diplomat.watchService('barista', { signal: stop.signal })) seen.push(snapshot);
		})();
		await waitFor('the first snapshot', () => seen.length > 0);
		writeServices(place, { barista: [{ host: '5.6.7.8', port: 1 }] });
		await waitFor('the edit', () => seen.at(-1)?.instances[0]?.host === '5.6.7.8');
		writeFileSync(file, '{ "services": { "barista": [ { "host": 5 } ] } }');
		await waitFor('the complaint', () => (sidecar.stdout() + sidecar.stderr()).includes('host'));
		expect(await diplomat.getService('barista')).toEqual(expect.objectContaining({ host: '5.6.7.8', port: 1 }));
		writeServices(place, BARISTA);
		await waitFor('the good edit', () => seen.at(-1)?.instances[0]?.host === '1.2.3.4');
		stop.abort();
		await watching;
		expect(seen.map(({ revision }) => revision)).toEqual(seen.map(({ revision }) => revision).sort((a, b) => a - b));
	});

	it('a lookup that succeeded once goes on succeeding, marked stale, while the sidecar is dead; and is live again after', async () => {
		await using place = await tempSocket();
		const file = writeServices(place, BARISTA);
		const args = ['--backend', 'local', '--services', file];
		await using first = await startSidecar(place.path, args);
		await using diplomat = await connectTo(place);
		expect(await diplomat.getService('barista')).not.toHaveProperty('stale');
		await first.stop('SIGKILL');
		await waitFor('the loss to be noticed', async () => (await diplomat.getService('barista')).stale === true);
		expect(await diplomat.getService('barista')).toMatchObject({ host: '1.2.3.4', stale: true });
		expect((await diplomat.getService('barista')).ageMs).toBeGreaterThanOrEqual(0);
		// The dead sidecar left its socket file behind: the next one must take the place over.
		await using _second = await startSidecar(place.path, args);
		await waitFor('a live answer', async () => (await diplomat.getService('barista')).stale === undefined);
	});

	it('SIGTERM with a client connected: the sidecar stays until the client has left, then exits 0 and takes its socket with it', async () => {
		await using place = await tempSocket();
		const file = writeServices(place, BARISTA);
		await using sidecar = await startSidecar(place.path, ['--backend', 'local', '--services', file]);
		const diplomat = await connectTo(place);
		await diplomat.getService('barista');
		sidecar.child.kill('SIGTERM');
		await waitFor('the shutdown to begin', () => /terminat|grace|shut|stop/i.test(sidecar.stdout() + sidecar.stderr()));
		expect(await diplomat.getService('barista', { fresh: true })).toMatchObject({ host: '1.2.3.4' });
		await diplomat.drain();
		expect(await sidecar.finished).toMatchObject({ exitCode: 0 });
		await expect(connect({ path: place.path, readyTimeoutMs: 50 })).rejects.toMatchObject({ code: 'TIMEOUT' });
	});

	it('works over TCP as over the socket', async () => {
		await using place = await tempSocket();
		const file = writeServices(place, BARISTA);
		const args = ['--backend', 'local', '--services', file, '--listen', '127.0.0.1:0', '--log-format', 'json'];
		await using sidecar = await startSidecar(place.path, args);
		const port = await waitFor('the port', () => {
			const text = sidecar.stdout() + sidecar.stderr();
			const found = /127\.0\.0\.1:(\d+)/.exec(text)?.[1];
			return found === undefined || found === '0' ? undefined : Number(found);
		});
		await using diplomat = await connect({ host: '127.0.0.1', port });
		expect(await diplomat.getService('barista')).toMatchObject({ host: '1.2.3.4', port: 8765 });
	});

	it('a thousand lookups at once, remote and local, each get their own answer', async () => {
		await using place = await tempSocket();
		const services = Object.fromEntries(
			Array.from({ length: 100 }, (_, index) => [`service-${index}`, [{ host: '10.0.0.1', port: 1000 + index }]]),
		);
		const file = writeServices(place, services);
		await using _sidecar = await startSidecar(place.path, ['--backend', 'local', '--services', file]);
		await using diplomat = await connectTo(place);
		const asked = Array.from({ length: 1000 }, (_, index) => index % 100);
		const answers = await Promise.all(
			asked.map((index) => diplomat.getService(`service-${index}`, { fresh: index % 2 === 0 })),
		);
		expect(answers.map(({ port }) => port)).toEqual(asked.map((index) => 1000 + index));
	});

	it('drain and close are idempotent, `closed` says why, and later calls are refused', async () => {
		await using place = await tempSocket();
		const file = writeServices(place, BARISTA);
		await using _sidecar = await startSidecar(place.path, ['--backend', 'local', '--services', file]);
		const diplomat = await connectTo(place);
		const closed = diplomat.closed;
		await diplomat.drain();
		await diplomat.drain();
		await diplomat.close();
		expect(await closed).toHaveProperty('reason');
		await expect(diplomat.getService('barista')).rejects.toMatchObject({ code: 'CLOSED' });
	});
});
