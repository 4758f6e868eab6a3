import { join } from 'node:path';

import { afterAll, describe, expect, it } from 'vitest';

import { openOwnTools } from '../toolbox.ts';
import { measureLargeService } from './measure/large-service.ts';
import { measurePicks } from './measure/picks.ts';
import { measurePodMemory } from './measure/pod-memory.ts';
import { measurePushBytes } from './measure/push-bytes.ts';
import type { ScaleRun } from './scale-run.ts';

// Needs the built packages, as every test that starts processes of ours. Rows over a real Consul have tests of their own.
describe('rows of the bench of scale, in tiny sizes', () => {
	const tools = openOwnTools(process.execPath);
	afterAll(() => tools.close());
	let places = 0;
	const run: ScaleRun = {
		...{ tools, quick: true, say: () => undefined },
		place: (name) => join(tools.directory, `${++places}-${name}`),
	};

	it('picks with zones and subsets are compared with plain ones', async () => {
		const { plainNs, local, spilled, subset, both } = await measurePicks(run);
		expect([plainNs, local, spilled, subset, both].every((figure) => figure > 0)).toBe(true);
	});

	it('bytes of a change are counted as a client of this build gets them', async () => {
		const { changeBytes, wholeBytes, features } = await measurePushBytes(run);
		expect(features).toContain('push');
		expect(wholeBytes).toBeGreaterThan(1000);
		expect(changeBytes).toBeGreaterThan(10);
		// An answer to hello and the like are in the first bytes alone.
		expect(changeBytes).toBeLessThan(wholeBytes);
	});

	it('a large service is looked up, or the reason why not is given', async () => {
		expect(await measureLargeService(run)).toMatchObject({ served: 100, isLive: true, isOversize: false, error: null });
	});

	it('memory of connections is counted at a unix socket and with TLS', async () => {
		const { pods, socket, tls } = await measurePodMemory(run);
		expect(pods).toBe(20);
		expect([socket, tls].every(({ rssKb, heapKb }) => Number.isFinite(rssKb) && Number.isFinite(heapKb))).toBe(true);
	});
});
