import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

/** What the clients saw of one fault. */
export interface FaultRow {
	readonly fault: string;
	readonly lookups: number;
	readonly failed: number;
	readonly wrong: number;
	readonly longestAgeMs: number;
	/** From the moment that Consul itself was back, and had the last change, until all clients had it. Null: never. */
	readonly agreementMs: number | null;
	/** The same of a bare blocking query at the client agent; null if the clients were faster. */
	readonly bareMs: number | null;
	/** How it was made, where that is not what the name says. */
	readonly note?: string;
}

/** The file that the suite writes. */
export const FAULT_REPORT: string = fileURLToPath(new URL('../../../../reports/cluster.json', import.meta.url));

/** Puts a row into the report, in the place of an older one of the same fault. */
export function reportFault(row: FaultRow): void {
	mkdirSync(dirname(FAULT_REPORT), { recursive: true });
	const rows = readRows().filter(({ fault }) => fault !== row.fault);
	writeFileSync(FAULT_REPORT, `${JSON.stringify([...rows, row], null, 2)}\n`);
	const { fault, lookups, failed, wrong, longestAgeMs, agreementMs, bareMs, note = '' } = row;
	const figures = `${lookups} lookups, ${failed} failed, ${wrong} wrong, longest age ${Math.round(longestAgeMs)} ms`;
	const agreement = agreementMs === null ? 'NO AGREEMENT' : `agreement after ${agreementMs} ms`;
	process.stdout.write(`${fault}: ${figures}, ${agreement} (a bare blocking query: ${bareMs} ms) ${note}\n`);
}

function readRows(): FaultRow[] {
	try {
		return JSON.parse(readFileSync(FAULT_REPORT, 'utf8')) as FaultRow[];
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
		throw error;
	}
}
