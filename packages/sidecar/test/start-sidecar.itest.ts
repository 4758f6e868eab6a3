import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { connect } from 'node:net';

import { startSidecar, tempSocket } from '@spock/testkit';
import { expect, it } from 'vitest';

it('a sidecar counts as started when it accepts, and not when a killed one has left its socket', async () => {
	await using place = await tempSocket();
	await using killed = await startSidecar(place.path, ['--backend', 'local']);
	await killed.stop('SIGKILL');
	expect(existsSync(place.path)).toBe(true);
	await using _next = await startSidecar(place.path, ['--backend', 'local']);
	const client = connect(place.path);
	await once(client, 'connect');
	client.destroy();
});

it('says what a sidecar that does not start has printed', async () => {
	await using place = await tempSocket();
	await expect(startSidecar(place.path, ['--backend', 'none'])).rejects.toThrow('must be one of consul, local, dns');
});
