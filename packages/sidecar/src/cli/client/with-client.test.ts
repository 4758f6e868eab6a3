import { Socket } from 'node:net';

import { expect, it } from 'vitest';

import type { SidecarTarget } from './sidecar-target.ts';
import { openClient } from './with-client.ts';

/** A target whose connection fails with this system error. */
function failing(code: string): SidecarTarget {
	const open: SidecarTarget['open'] = () => {
		const error = Object.assign(new Error(`connect ${code}`), { code, syscall: 'connect' });
		return { socket: new Socket().destroy(error), connected: 'connect' };
	};
	return {
		name: '/uds/sidecar.sock',
		transport: 'unix',
		address: { path: '/uds/sidecar.sock' },
		token: undefined,
		open,
	};
}

it.each(['EACCES', 'EPERM'])('%s: no permission is said, and not that there is no sidecar', async (code) => {
	const failure = openClient(failing(code), 1000, 'test');
	await expect(failure).rejects.toThrow(
		/^no permission to connect to \/uds\/sidecar\.sock: .*in the group of the socket$/,
	);
	await expect(failure).rejects.toMatchObject({ exitCode: 3 });
	await expect(failure).rejects.not.toThrow(/no sidecar|Start one/);
});

it('a socket that nobody listens at says how to start one', async () => {
	await expect(openClient(failing('ECONNREFUSED'), 1000, 'test')).rejects.toThrow(/^no sidecar at .*Start one/);
});
