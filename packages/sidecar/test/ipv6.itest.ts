import { once } from 'node:events';
import { get } from 'node:http';
import { createServer, connect as tcpConnect } from 'node:net';

import { connect } from '@spock/client';
import { BackendSource, consulBackend } from '@spock/discovery';
import { startFakeConsul, startSidecar, tempSocket, waitFor } from '@spock/testkit';
import { describe, expect, it, vi } from 'vitest';

import { bind, isLoopback } from '../src/listen/bind.ts';

/** The status of a page at `host`, of whichever family that is. */
function statusAt(host: string, port: number): Promise<number | undefined> {
	return new Promise((resolve, reject) => {
		get({ host, port, path: '/livez' }, (response) => {
			response.resume();
			resolve(response.statusCode);
		}).on('error', reject);
	});
}

/** Passes connections at the same port of `::1` on. */
async function wayOverIpv6(port: number) {
	const server = createServer((socket) => {
		const onward = tcpConnect(port, '127.0.0.1');
		socket.pipe(onward).pipe(socket);
		for (const one of [socket, onward]) one.on('error', () => undefined);
	});
	server.listen(port, '::1');
	await once(server, 'listening');
	return {
		[Symbol.asyncDispose]: async () => {
			server.close();
			await once(server, 'close');
		},
	};
}

describe('an address of IPv6', () => {
	it.each(['[::ffff:127.0.0.1]:', '::ffff:127.0.0.1:', '::1:', '[::1%lo]:'])(
		'%sPORT is one of Consul',
		async (host) => {
			await using fake = await startFakeConsul();
			await using _way = await wayOverIpv6(Number(new URL(fake.url).port));
			fake.set('barista', [{ id: 'a' }]);
			const backend = consulBackend({ addresses: [`http://${host}${new URL(fake.url).port}`] });
			const source = new BackendSource({ backend });
			expect((await source.get({ service: 'barista' })).instances).toHaveLength(1);
			await source.close();
		},
	);

	it('is one to listen at and to ask as an upstream, with brackets and without', async () => {
		await using place = await tempSocket();
		const own = `${place.path}.own`;
		await using lower = await startSidecar(place.path, [
			'--listen',
			'::1:0',
			'--backend',
			'local',
			'--log-format',
			'json',
		]);
		const port = await waitFor('the port', () => /\[::1\]:(\d+)/.exec(lower.stdout())?.[1]);
		for (const upstream of [`::1:${port}`, `[::1]:${port}`, `[::1%lo]:${port}`]) {
			await using _pod = await startSidecar(own, ['--upstream', upstream, '--log-format', 'json']);
			await using diplomat = await connect({ path: own });
			await waitFor('the upstream', async () => (await diplomat.request('status', null)).ready);
		}
	});

	it('the one of all serves clients of both families, and shows those of IPv4 as such', async () => {
		await using place = await tempSocket();
		const flags = ['--admin', '[::]:0', '--admin-any', '--listen', '[::]:0', '--listen-any', '--backend', 'local'];
		await using sidecar = await startSidecar(place.path, [...flags, '--log-format', 'json']);
		const admin = await waitFor('the admin port', () => /"address":"\[::\]:(\d{2,})"/.exec(sidecar.stdout())?.[1]);
		const port = await waitFor('the port', () => /,"\[::\]:(\d+)"\]/.exec(sidecar.stdout())?.[1]);
		for (const host of ['127.0.0.1', '::1']) {
			expect(await statusAt(host, Number(admin))).toBe(200);
			await using diplomat = await connect({ host, port: Number(port) });
			const page = await (await fetch(`http://127.0.0.1:${admin}/status.json`)).text();
			expect(page).not.toContain('::ffff:');
			expect(diplomat.status().state).toBe('ready');
		}
	});

	it('the one of all is that of IPv4 on a machine without IPv6', async () => {
		const server = createServer();
		const { listen } = server;
		const asked: unknown[] = [];
		vi.spyOn(server, 'listen').mockImplementation(((options: { host: string }) => {
			asked.push(options.host);
			if (options.host === '0.0.0.0') return listen.call(server, options as never);
			const error = Object.assign(new Error('no IPv6'), { code: 'EAFNOSUPPORT', syscall: 'listen' });
			setImmediate(() => server.emit('error', error));
			return server;
		}) as never);
		await bind(server, { host: '::', port: 0 }, () => undefined);
		expect(asked).toEqual(['::', '0.0.0.0']);
		await new Promise((resolve) => server.close(resolve));
	});

	it('is of this machine alone in whichever form', () => {
		const own = ['::1', '0:0:0:0:0:0:0:1', '::ffff:127.0.0.1', '::1%lo', '127.1.2.3', 'localhost'];
		const others = ['::', '0.0.0.0', '::ffff:10.0.0.1', 'fe80::1%lo', 'example.com', '128.0.0.1', '127.0.0.1.test', ''];
		expect([...own, ...others].filter(isLoopback)).toEqual(own);
	});
});
