import { Socket } from 'node:net';

import { expect, it } from 'vitest';

import type { SidecarTarget } from './sidecar-target.ts';
import { WireClient } from './wire-client.ts';

/** A target whose connection fails with this system error. */
function failing(code: string): SidecarTarget {
	const open: SidecarTarget['open'] = async () => {
		const socket = new Socket();
		setImmediate(() => socket.destroy(Object.assign(new Error(`connect ${code}`), { code })));
		return { socket, connected: 'connect' };
	};
	return { name: '/uds/sidecar.sock', transport: 'unix', token: undefined, open };
}

it.each(['EACCES', 'EPERM'])('%s: no permission is said, and not that there is no sidecar', async (code) => {
	const failure = WireClient.open(failing(code), 1000);
	await expect(failure).rejects.toThrow(
		/^no permission to connect to \/uds\/sidecar\.sock: .*in the group of the socket$/,
	);
	await expect(failure).rejects.toMatchObject({ exitCode: 3 });
	await expect(failure).rejects.not.toThrow(/no sidecar|Start one/);
});

it('a socket that nobody listens at says how to start one', async () => {
	await expect(WireClient.open(failing('ECONNREFUSED'), 1000)).rejects.toThrow(/^no sidecar at .*Start one/);
});
