import { fileURLToPath } from 'node:url';

import { spawnProcess, startSidecar, tempSocket } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

const script = fileURLToPath(new URL('./lookup.sh', import.meta.url));
const services = fileURLToPath(new URL('../services.json', import.meta.url));

describe.each(['socat', 'nc'])('the shell line with %s', (tool) => {
	it('gets a host and a port', async () => {
		await using place = await tempSocket();
		await using _sidecar = await startSidecar(place.path, ['--backend', 'local', '--services', services]);
		await using run = spawnProcess('sh', [script, place.path, 'barista'], { env: { TOOL: tool } });
		const { exitCode, stdout } = await run.finished;
		expect(JSON.parse(stdout)).toMatchObject({ id: 1, data: { host: '127.0.0.1', port: 8765 } });
		expect(exitCode).toBe(0);
	});
});
