import { connect } from '@spock/client';
import { waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { Cast } from './actors.ts';
import { attackRun } from './attack-run.ts';
import { noteAttack } from './hostile-report.ts';
import { SidecarUnderAttack } from './sidecar-under-attack.ts';

const FILES = 160;
const CROWD = 600;
/** Of one core: an accept loop that spins takes all of it. */
const PROCESSOR_SHARE_MAX = 0.5;
const IDLE_MS = 2000;
const LINES_MAX = 50;

describe('a sidecar with fewer files than clients', () => {
	it('refuses early, counts it, rests, serves who was there, and takes clients again', async () => {
		await using cast = await Cast.prepare();
		await using sidecar = await SidecarUnderAttack.start(FILES);
		await using good = await cast.goodClient(sidecar.path);
		await using attacker = await cast.attacker(CROWD);
		const before = await sidecar.facts();

		const { path } = sidecar;
		await attacker.ask({ kind: 'attack', attack: 'connections held', path }, 'attacking');
		const usedMs = sidecar.processorMs;
		const window = await good.ask({ kind: 'measure', durationMs: IDLE_MS }, 'measured');
		const share = (sidecar.processorMs - usedMs) / IDLE_MS;
		expect(window).toMatchObject({ failed: 0, reconnects: 0 });
		expect(share).toBeLessThan(PROCESSOR_SHARE_MAX);
		expect(sidecar.fds).toBeLessThan(FILES);
		expect(sidecar.process.stdout().split('\n').length).toBeLessThan(LINES_MAX);
		await attacker.ask({ kind: 'stop' }, 'stopped');

		await waitFor('the files of the attackers to be closed', () => sidecar.fds <= before.fds);
		const late = await connect({ path });
		const { counters } = await late.request('status', null);
		expect(counters['refused']).toBeGreaterThanOrEqual(CROWD - FILES);
		expect(await late.getService('steady', { fresh: true })).toMatchObject({ port: 8765 });
		await late.close();
		await waitFor('the last client to be gone', () => sidecar.fds <= before.fds);
		const report = await attackRun('connections held', sidecar, good, [attacker], { windows: 1, windowMs: 700 });
		expect(report).toMatchObject({ failed: 0, reconnects: 0 });
		noteAttack(`${CROWD} connections, ${FILES} files`, report, before, await sidecar.facts());
	});
});
