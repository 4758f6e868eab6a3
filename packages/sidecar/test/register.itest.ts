import { runSidecar, startSidecar, tempSocket, waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { type Frame, RawClient } from './raw-client.ts';

const LOCAL = ['--backend', 'local'];

describe('sidecar register', () => {
	it('registers while it runs, says what it says, and Ctrl-C deregisters', async () => {
		await using place = await tempSocket();
		await using _sidecar = await startSidecar(place.path, LOCAL);
		const args = [
			'--id',
			'b1',
			'--port',
			'8765',
			'--host',
			'1.2.3.4',
			'--tag',
			'v2',
			'--meta',
			'zone=eu-1a',
			'--weight',
			'3',
		];
		await using holding = runSidecar(['register', 'barista', ...args, '--socket', place.path]);
		await waitFor('the registration', () => holding.stdout().includes('barista (b1): registered'));
		await using get = runSidecar(['call', 'getInstances', '{"service":"barista"}', '--socket', place.path]);
		expect(JSON.parse((await get.finished).stdout)).toMatchObject({
			instances: [{ instance: 'b1', host: '1.2.3.4', port: 8765, tags: ['v2'], zone: 'eu-1a', weight: 3 }],
		});
		await using status = runSidecar(['status', '--socket', place.path]);
		expect((await status.finished).stdout).toContain('  barista  b1  b1        registered  passing  connected\n');
		const { exitCode, stdout } = await holding.stop('SIGINT');
		expect(exitCode).toBe(0);
		expect(stdout).toContain('barista (b1): deregistered');
		await using list = runSidecar(['list', '--socket', place.path]);
		expect((await list.finished).stdout).not.toContain('barista');
	});

	it('goes on with the sidecar that comes after one that was killed', async () => {
		await using place = await tempSocket();
		await using sidecar = await startSidecar(place.path, LOCAL);
		await using holding = runSidecar(['register', 'barista', '--port', '8765', '--socket', place.path]);
		await waitFor('the registration', () => holding.stdout().includes(': registered'));
		await sidecar.stop('SIGKILL');
		await waitFor('the loss', () => holding.stderr().includes('the sidecar is gone'));
		await using _next = await startSidecar(place.path, LOCAL);
		await waitFor('the next registration', () => holding.stdout().match(/: registered/g)?.length === 2);
		expect((await holding.stop('SIGTERM')).exitCode).toBe(0);
	});

	it('says what is wrong', async () => {
		await using place = await tempSocket();
		await using _sidecar = await startSidecar(place.path, LOCAL);
		const run = async (...args: string[]) => {
			await using command = runSidecar(['register', 'barista', ...args, '--socket', place.path]);
			return await command.finished;
		};
		expect(await run()).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('--port') });
		expect(await run('--port', 'x')).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('whole number') });
		expect(await run('--port', '0')).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('data.port') });
		expect(await run('--port', '1', '--meta', 'zone')).toMatchObject({ exitCode: 2 });
		expect(await run('--port', '1', '--check', 'ftp://x')).toMatchObject({ exitCode: 2 });
	});
});

describe('a connection that holds registrations', () => {
	it('is known again by its secret, which is shown nowhere', async () => {
		const secret = 'a-secret-of-this-client';
		await using place = await tempSocket();
		await using _sidecar = await startSidecar(place.path, LOCAL);
		const hello = { versions: [1], secret };
		await using before = await RawClient.open(place.path);
		await using after = await RawClient.open(place.path);
		await using stranger = await RawClient.open(place.path);
		await before.ask(1, 'hello', hello);
		await before.ask(2, 'registerService', { service: 'barista', id: 'b1', port: 80 });
		await stranger.ask(1, 'hello', { ...hello, secret: 'another-secret-than-that' });
		expect(await stranger.ask(2, 'deregisterService', { id: 'b1' })).toMatchObject({ error: { code: 'ACL_DENIED' } });
		await after.ask(1, 'hello', hello);
		const shown = [
			await stranger.ask(3, 'status', null),
			await stranger.ask(4, 'explain', { service: 'barista' }),
			await stranger.ask(5, 'getInstances', { service: 'barista' }),
		];
		expect(JSON.stringify(shown)).not.toContain(secret);
		expect(await after.ask(2, 'deregisterService', { id: 'b1' })).toMatchObject({ data: null });
		expect(await stranger.ask(6, 'getInstances', { service: 'barista' })).toMatchObject({ data: { instances: [] } });
	});

	it('is pushed what becomes of them, if it understands pushes; its end makes them critical and then takes them out', async () => {
		await using place = await tempSocket();
		await using _sidecar = await startSidecar(place.path, [...LOCAL, '--reconnect-grace-ms', '200']);
		await using holder = await RawClient.open(place.path);
		await using other = await RawClient.open(place.path);
		const until = async (client: RawClient, what: (frame: Frame) => boolean): Promise<Frame[]> => {
			const frames: Frame[] = [];
			for (;;) {
				const frame = await client.next();
				if (frame === undefined) throw new Error('the connection has ended');
				frames.push(frame);
				if (what(frame)) return frames;
			}
		};
		await holder.ask(1, 'hello', { versions: [1], features: ['push'] });
		holder.request(2, 'registerService', { service: 'barista', id: 'b1', port: 80 });
		await until(holder, ({ id }) => id === 2);
		await other.ask(1, 'watchService', { service: 'barista' });
		// It is not theirs, however they say it.
		const moved = { service: 'barista', id: 'b1', port: 80, host: '6.6.6.6' };
		const refused = [
			await other.ask(2, 'deregisterService', { id: 'b1' }),
			await other.ask(3, 'reportService', { id: 'b1', status: 'critical' }),
			await other.ask(4, 'registerService', moved),
		];
		expect(refused.map((frame) => frame?.error?.['code'])).toEqual(['ACL_DENIED', 'ACL_DENIED', 'BAD_REQUEST']);
		holder.socket.destroy();
		const frames = await until(other, (frame) => statusesOf(frame) === '');
		expect(frames.map(statusesOf).filter((statuses) => statuses !== undefined)).toEqual(['critical', '']);
	});
});

/** The statuses in a snapshot, replied or pushed; undefined for any other frame. */
function statusesOf({ data }: Frame): string | undefined {
	const { instances } = (data ?? {}) as { readonly instances?: readonly { readonly status: string }[] };
	return instances?.map(({ status }) => status).join();
}
