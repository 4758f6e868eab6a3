import { waitFor } from '@spock/testkit';
import { expect, it } from 'vitest';

import { Cast } from './actors.ts';
import { attackRun } from './attack-run.ts';
import { SidecarUnderAttack } from './sidecar-under-attack.ts';

it('a log that nobody reads harms no client, however many lines others cause', async () => {
	await using cast = await Cast.prepare();
	await using sidecar = await SidecarUnderAttack.start(undefined, 'debug');
	await using good = await cast.goodClient(sidecar.path);
	await using attacker = await cast.attacker();
	const log = sidecar.process.child.stdout;
	log?.pause();
	for (const attack of ['a connection storm', 'random bytes', 'questions left behind']) {
		const report = await attackRun(attack, sidecar, good, [attacker], { windows: 2, windowMs: 1500 });
		expect(report).toMatchObject({ failed: 0, example: null, reconnects: 0 });
		expect(report.lookups).toBeGreaterThan(0);
	}
	log?.resume();
	await waitFor('what the log lacks', () => sidecar.process.stdout().includes('log lines dropped'));
});
