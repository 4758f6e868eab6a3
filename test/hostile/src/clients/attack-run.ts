import { waitFor } from '@spock/testkit';

import type { Attacker, GoodClient } from './actors.ts';
import type { Window } from './messages.ts';
import type { SidecarUnderAttack } from './sidecar-under-attack.ts';

/** Windows with and without the attack, in turns: a machine that is slow for a while is so for both. */
export interface Windows {
	readonly windows: number;
	readonly windowMs: number;
}
const WINDOWS: Windows = { windows: 3, windowMs: 700 };
/** How long a push may take to arrive, whatever goes on. */
const PUSH_MS_MAX = 20_000;

/** Of one attack: what the well-behaved client went through, before and meanwhile. */
export interface AttackReport {
	readonly note: string;
	/** Medians over the windows. */
	readonly quietMs: number;
	readonly attackedMs: number;
	/** While another sidecar of this machine is attacked: what the processors alone cost it. Undefined where it was not needed. */
	readonly besideMs?: number;
	/** How much slower it is under attack than quiet, or than with the attack beside it if that is slower. */
	readonly ratio: number;
	/** The worst 99th percentile of a window. */
	readonly quietP99Ms: number;
	readonly attackedP99Ms: number;
	readonly lookups: number;
	readonly failed: number;
	readonly example: string | null;
	readonly reconnects: number;
	/** Changes that were pushed while attacked; all of them arrived, or the run would have failed. */
	readonly pushes: number;
}

let version = 0;

/** Measures an attack on the sidecar at `path`; every window also has a change that must be pushed. */
export async function attackRun(
	attack: string,
	sidecar: SidecarUnderAttack,
	good: GoodClient,
	attackers: readonly Attacker[],
	{ windows, windowMs }: Windows = WINDOWS,
	path: string = sidecar.path,
): Promise<AttackReport> {
	const quiet: Window[] = [];
	const attacked: Window[] = [];
	let note = '';
	for (let round = 0; round < windows; round++) {
		quiet.push(await measure(sidecar, good, windowMs));
		const started = await Promise.all(
			attackers.map((attacker) => attacker.ask({ kind: 'attack', attack, path }, 'attacking')),
		);
		note = `${attackers.length} × ${started[0]?.note}`;
		attacked.push(await measure(sidecar, good, windowMs));
		await Promise.all(attackers.map((attacker) => attacker.ask({ kind: 'stop' }, 'stopped')));
	}
	const all = [...quiet, ...attacked];
	const [quietMs, attackedMs] = [median(quiet), median(attacked)];
	return {
		note,
		quietMs,
		attackedMs,
		ratio: attackedMs / quietMs,
		quietP99Ms: Math.max(...quiet.map(({ p99Ms }) => p99Ms)),
		attackedP99Ms: Math.max(...attacked.map(({ p99Ms }) => p99Ms)),
		lookups: all.reduce((sum, { lookups }) => sum + lookups, 0),
		failed: all.reduce((sum, { failed }) => sum + failed, 0),
		example: all.find(({ example }) => example !== null)?.example ?? null,
		reconnects: Math.max(...all.map(({ reconnects }) => reconnects)),
		pushes: windows,
	};
}

async function measure(sidecar: SidecarUnderAttack, good: GoodClient, durationMs: number): Promise<Window> {
	const wanted = ++version;
	await sidecar.publish(wanted);
	const window = await good.ask({ kind: 'measure', durationMs }, 'measured');
	await waitFor(
		`the push of version ${wanted}`,
		async () => (await good.ask({ kind: 'version' }, 'version')).version === wanted,
		PUSH_MS_MAX,
	);
	return window;
}

function median(windows: readonly Window[]): number {
	const sorted = windows.map(({ medianMs }) => medianMs).sort((left, right) => left - right);
	return sorted[sorted.length >> 1] ?? Number.NaN;
}
