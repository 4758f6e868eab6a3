import { waitFor } from '@spock/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { type Attacker, Cast, type GoodClient } from './actors.ts';
import { type AttackReport, attackRun, type Windows } from './attack-run.ts';
import { attacks } from './attacks.ts';
import { noteAttack } from './hostile-report.ts';
import { openFilesMax } from './open-files.ts';
import { type Facts, SidecarUnderAttack } from './sidecar-under-attack.ts';

const RATIO_MAX = 3;
/** A machine that is busy with other things may spoil a comparison, and not five of them. */
const TRIES_MAX = 5;
/** Of the heap after a forced collection. The rest of a process's memory is the allocator's, which gives back late. */
const HEAP_GROWTH_BYTES_MAX = 4 << 20;
const RSS_GROWTH_BYTES_MAX = 96 << 20;
/** What is promised, or what this machine allows one process: the sidecar has a few files open besides. */
const CONNECTIONS = Math.min(10_000, openFilesMax() - 500);

describe('a running sidecar under attack', () => {
	let cast: Cast;
	let sidecar: SidecarUnderAttack;
	let beside: Promise<SidecarUnderAttack> | undefined;
	let good: GoodClient;
	let attackers: Attacker[];

	beforeAll(async () => {
		cast = await Cast.prepare();
		sidecar = await SidecarUnderAttack.start();
		good = await cast.goodClient(sidecar.path);
		attackers = await Promise.all([cast.attacker(), cast.attacker()]);
		// Code that was never run is slow, and what it needs once is no leak.
		for (const attack of Object.keys(attacks))
			await attackRun(attack, sidecar, good, attackers, { windows: 1, windowMs: 300 });
	});

	afterAll(async () => {
		for (const actor of [...(attackers ?? []), good]) await actor?.[Symbol.asyncDispose]();
		await sidecar?.[Symbol.asyncDispose]();
		await (await beside)?.[Symbol.asyncDispose]();
		await cast?.[Symbol.asyncDispose]();
	});

	it.each(Object.keys(attacks).filter((attack) => attack !== 'connections held'))('%s', async (attack) => {
		const before = await sidecar.facts();
		const report = await hold(attack, attackers);
		const after = await returned(sidecar, before);
		noteAttack(attack, report, before, after);
	});

	it(`${CONNECTIONS} connections`, async () => {
		const before = await sidecar.facts();
		// This process is one of those that the kernel counts, and so is the well-behaved client.
		const crowd = await Promise.all([cast.attacker(CONNECTIONS / 2), cast.attacker(CONNECTIONS / 2)]);
		try {
			const report = await hold('connections held', crowd, { windows: 1, windowMs: 3000 });
			const after = await returned(sidecar, before);
			noteAttack('connections held', report, before, after);
		} finally {
			for (const attacker of crowd) await attacker[Symbol.asyncDispose]();
		}
	});

	/** Attacks until the well-behaved client kept its pace; that it lost nothing must be so every time. */
	async function hold(attack: string, crowd: readonly Attacker[], windows?: Windows): Promise<AttackReport> {
		for (let tries = 1; ; tries++) {
			const report = await besideToo(attack, crowd, await attackRun(attack, sidecar, good, crowd, windows), windows);
			expect(report).toMatchObject({ failed: 0, example: null, reconnects: 0 });
			expect(report.lookups).toBeGreaterThan(0);
			if (report.ratio <= RATIO_MAX) return report;
			if (tries === TRIES_MAX) expect.fail(`${report.ratio.toFixed(2)} times as slow: ${JSON.stringify(report)}`);
		}
	}

	/**
	 * Where a client became slow, attacks another sidecar in the same way: on two processors, attackers that use both of
	 * them make every process wait. What the attacked sidecar adds to that is its own.
	 */
	async function besideToo(
		attack: string,
		crowd: readonly Attacker[],
		report: AttackReport,
		windows?: Windows,
	): Promise<AttackReport> {
		if (report.ratio <= RATIO_MAX) return report;
		beside ??= SidecarUnderAttack.start();
		const { path } = await beside;
		await attackRun(attack, sidecar, good, crowd, { windows: 1, windowMs: 300 }, path);
		const { attackedMs: besideMs } = await attackRun(attack, sidecar, good, crowd, windows, path);
		return { ...report, besideMs, ratio: report.attackedMs / Math.max(report.quietMs, besideMs) };
	}
});

/** Waits until the sidecar has what it had before: files to the last one, memory but for a little. */
async function returned(sidecar: SidecarUnderAttack, before: Facts): Promise<Facts> {
	await waitFor('the files of the attackers to be closed', () => sidecar.fds <= before.fds);
	// What was asked for and is not there is remembered for some seconds.
	const after = await waitFor('its memory to be free again', async () => {
		const facts = await sidecar.facts();
		return facts.heapBytes - before.heapBytes < HEAP_GROWTH_BYTES_MAX ? facts : undefined;
	});
	expect(after.rssBytes - before.rssBytes).toBeLessThan(RSS_GROWTH_BYTES_MAX);
	return after;
}
