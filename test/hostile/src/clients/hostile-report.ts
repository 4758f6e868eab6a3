import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import type { AttackReport } from './attack-run.ts';
import type { Facts } from './sidecar-under-attack.ts';

const REPORTS = fileURLToPath(new URL('../../../../reports', import.meta.url));

/** Puts the figures of an attack into reports/hostile.json. */
export function noteAttack(attack: string, report: AttackReport, before: Facts, after: Facts): void {
	const file = `${REPORTS}/hostile.json`;
	mkdirSync(REPORTS, { recursive: true });
	const rows = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as unknown[]) : [];
	writeFileSync(file, JSON.stringify([...rows, { attack, ...report, before, after }], null, 2));
}
