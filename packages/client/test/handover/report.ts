import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const REPORTS = fileURLToPath(new URL('../../../../reports/', import.meta.url));

/** Keeps the figures of a full run, for whoever reads them after it: `pnpm test:handover` prints them. */
export function reportHandOver(name: string, figures: Readonly<Record<string, unknown>>): void {
	if (process.env['SPOCK_HANDOVER_TURNS'] === undefined) return;
	mkdirSync(REPORTS, { recursive: true });
	writeFileSync(join(REPORTS, `handover-${name}.json`), `${JSON.stringify(figures, null, '\t')}\n`);
}
