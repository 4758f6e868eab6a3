import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { connect } from '@spock/client';
import { runSidecar, startSidecar, tempSocket } from '@spock/testkit';
import { expect, it } from 'vitest';

const COUNT = 8000;
const TAGS = [
	'version-2026-11-25-stable',
	'region-eu-central-1',
	'team-payments-and-ledgers',
	'tier-production-critical',
];

it('the names of 8,000 services come in parts, through two sidecars and to each command', async () => {
	await using place = await tempSocket();
	const file = join(place.directory, 'services.json');
	const name = (index: number): string => `a-service-with-a-name-of-its-own-${String(index).padStart(5, '0')}`;
	const one = [{ host: '10.0.0.1', port: 80, tags: TAGS }];
	const services = Object.fromEntries(Array.from({ length: COUNT }, (_, index) => [name(index), one]));
	writeFileSync(file, JSON.stringify({ services }));
	const pod = `${place.path}.pod`;
	await using _shared = await startSidecar(place.path, ['--services', file]);
	await using _pod = await startSidecar(pod, ['--upstream', `unix:${place.path}`]);
	for (const path of [place.path, pod]) {
		await using diplomat = await connect({ path });
		const list = await diplomat.listServices();
		expect(list.services).toHaveLength(COUNT);
		expect(list.services[COUNT - 1]).toEqual({ name: name(COUNT - 1), tags: [...TAGS].sort() });
		expect(JSON.stringify(list).length).toBeGreaterThan(1024 * 1024);
		// The connection goes on behind the parts.
		expect(await diplomat.getService(name(7))).toMatchObject({ host: '10.0.0.1' });
		const listed = await runSidecar(['list', '--socket', path, '--json']).finished;
		expect(listed.exitCode).toBe(0);
		expect(JSON.parse(listed.stdout).services).toHaveLength(COUNT);
	}
	const types = await runSidecar(['typegen', '--socket', pod]).finished;
	expect(types.stdout).toContain(name(COUNT - 1));
});
