import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';

import { FakeSidecar } from '@spock/testkit';
import { expect, it, vi } from 'vitest';

import { EXIT } from '../output/output.ts';
import { targetOf } from './sidecar-target.ts';
import { openClient } from './with-client.ts';

it('a command does not talk to a sidecar in a default directory that another user made', async () => {
	const uid = 3_500_000 + process.pid;
	const directory = `/tmp/spock-${uid}`;
	vi.stubEnv('SPOCK_SOCKET', '');
	const getuid = vi.spyOn(process, 'getuid').mockReturnValue(uid);
	try {
		const missing = openClient(targetOf({}), 1000, 'test');
		await expect(missing).rejects.toMatchObject({ exitCode: EXIT.noSidecar, cause: { code: 'ENOENT' } });
		await mkdir(directory, { mode: 0o700 });
		await using squatter = await FakeSidecar.listen(join(directory, 'sidecar.sock'));
		const refused = openClient(targetOf({}), 1000, 'test');
		await expect(refused).rejects.toThrow('is not a directory that only this user may change');
		expect(squatter.connections).toHaveLength(0);
	} finally {
		getuid.mockRestore();
		vi.unstubAllEnvs();
		await rm(directory, { recursive: true, force: true });
	}
});
