import { fileURLToPath } from 'node:url';
import { spawnProcess } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

/** Of what is built of the package. */
const app = fileURLToPath(new URL('waiting-app.mjs', import.meta.url));
const repository = fileURLToPath(new URL('../../../', import.meta.url));
/** Node 22 and earlier have it as an experiment, Node 25 and later deny the network too. */
const [major = 0] = process.versions.node.split('.').map(Number);
const flags = [
	major < 24 ? '--experimental-permission' : '--permission',
	`--allow-fs-read=${repository}*`,
	'--no-warnings',
];

describe('under the permission model of Node', () => {
	it('connect without an address names what Node denies, the flag that allows it, and the variable that needs none', async () => {
		await using denied = spawnProcess(process.execPath, [...flags, app]);
		const { stderr } = await denied.finished;
		expect(stderr).toContain("Node's permission model does not let this process look at /uds");
		expect(stderr).toMatch(/--allow-fs-read=\/uds, or name the socket by SPOCK_SOCKET/);
	});

	it('connect to a path that it may not look at reports what connecting fails with', async () => {
		const path = '/tmp/spock-permission-model/none.sock';
		await using denied = spawnProcess(process.execPath, [...flags, app, path, '50']);
		const { stderr } = await denied.finished;
		const why =
			major < 25 ? 'connecting fails with connect ENOENT' : "Node's permission model does not let this process connect";
		expect(stderr).toContain(`no sidecar answered at ${path} within 50 ms: ${why}`);
	});
});
