import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { connect } from '@spock/client';
import {
	type ProcessResult,
	type RunningProcess,
	runSidecar,
	startSidecar,
	type TempSocket,
	tempSocket,
} from '@spock/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const orders = ['a', 'a', 'b', 'b', 'b', 'b'].map((zone, index) => {
	return { id: `${zone}-${index}`, host: `10.0.0.${index}`, port: 80, zone };
});

let place: TempSocket;
let sidecar: RunningProcess;

async function command(...args: string[]): Promise<ProcessResult> {
	await using process = runSidecar(args, { env: { SPOCK_SOCKET: place.path } });
	return await process.finished;
}

beforeAll(async () => {
	place = await tempSocket();
	const services = join(place.directory, 'services.json');
	writeFileSync(services, JSON.stringify({ services: { orders } }));
	const settings = ['--zone', 'a', '--zone-policy', 'prefer'];
	sidecar = await startSidecar(place.path, ['--backend', 'local', '--services', services, ...settings]);
});

afterAll(async () => {
	await sidecar?.[Symbol.asyncDispose]();
	await place?.[Symbol.asyncDispose]();
});

describe('a sidecar with --zone', () => {
	it('names its zone to clients that do not know their own, and picks in it for those that ask it each time', async () => {
		await using diplomat = await connect({ path: place.path, zonePolicy: 'prefer' });
		expect(diplomat.status().zone).toBe('a');
		const zones = async (client: typeof diplomat): Promise<number> => {
			const found = await Promise.all(Array.from({ length: 300 }, () => client.getService('orders')));
			return found.filter(({ instance }) => instance.startsWith('a')).length;
		};
		// Of two zones, a third of the weight for half of the callers.
		expect(Math.abs((await zones(diplomat)) - 200)).toBeLessThanOrEqual(3);
		await using remote = await connect({ path: place.path, lookups: 'remote' });
		expect(Math.abs((await zones(remote)) - 200)).toBeLessThanOrEqual(3);
		await using other = await connect({ path: place.path, zone: 'b', zonePolicy: 'prefer' });
		expect(await zones(other)).toBe(0);
	});

	it('is the zone of instances that apps register without one', async () => {
		await using diplomat = await connect({ path: place.path });
		await diplomat.register({ service: 'till', id: 'own', host: '10.0.1.1', port: 80, meta: { zone: 'b' } });
		await diplomat.register({ service: 'till', id: 'given', host: '10.0.1.2', port: 80 });
		const { instances } = await diplomat.getInstances('till');
		expect(instances.map(({ host, zone }) => [host, zone])).toEqual([
			['10.0.1.2', 'a'],
			['10.0.1.1', 'b'],
		]);
	});

	it('get and explain answer as a client of a zone sees it', async () => {
		for (let turn = 0; turn < 3; turn++) {
			expect((await command('get', 'orders', '--zone', 'b')).stdout).toMatch(/^10\.0\.0\.[2-5]:80\n$/);
		}
		const { exitCode, stdout } = await command('explain', 'orders', '--zone', 'b');
		expect(exitCode).toBe(0);
		expect(stdout).toContain('orders: 4 of 6 instances get work');
		expect(stdout).toContain('all its checks pass; out: in zone "a", and the local zone "b" is enough');
		expect(stdout).toContain('all its checks pass; local: in zone "b", which gets 100 % of the work');
		const { instances } = JSON.parse((await command('explain', 'orders', '--zone', 'a', '--json')).stdout);
		expect(instances.map(({ zone, included }: { zone: string; included: boolean }) => [zone, included])).toEqual([
			...Array(2).fill(['a', true]),
			...Array(4).fill(['b', true]),
		]);
	});

	it('get and explain answer as a client with a subset sees it', async () => {
		const view = ['--subset', '2', '--subset-key', 'pod-1'];
		const { stdout } = await command('explain', 'orders', ...view);
		expect(stdout).toContain('orders: 2 of 6 instances get work');
		expect(stdout).toContain("all its checks pass; not in this client's subset of 2");
		const found = (await command('get', 'orders', ...view)).stdout.trim();
		expect(stdout.split('\n').find((line) => line.includes(found))).toMatch(/^yes/);
	});

	it.each([
		[['--zone', ''], '--zone must be the name of a zone'],
		[['--subset', '2'], 'give --subset COUNT and --subset-key KEY together'],
		[['--subset', '-1', '--subset-key', 'x'], '--subset must be a number of instances, not "-1"'],
		[['--subset', '1e99', '--subset-key', 'x'], '--subset must be a number of instances, not "1e99"'],
	])('%j is refused by name', async (flags, message) => {
		for (const name of ['get', 'explain']) {
			const { exitCode, stderr } = await command(name, 'orders', ...flags);
			expect([exitCode, stderr]).toEqual([2, expect.stringContaining(message)]);
		}
	});
});
