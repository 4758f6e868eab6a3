import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { dirname } from 'node:path';

/** Where and when the figures of a result file were taken. */
export interface ResultOrigin {
	/** Version of the file's shape. */
	readonly schema: 1;
	/** When the run ended, ISO 8601. */
	readonly takenAt: string;
	readonly quick: boolean;
	readonly commit: string;
	readonly machine: { readonly processor: string; readonly cores: number };
	readonly node: string;
}

/** That of a run which ends now. */
export function resultOrigin(node: string, quick: boolean): ResultOrigin {
	const [processor] = cpus();
	return {
		schema: 1,
		takenAt: new Date().toISOString(),
		quick,
		commit: commit(),
		machine: { processor: processor?.model.trim() ?? 'unknown', cores: cpus().length },
		node,
	};
}

/** The commit that is checked out, short. */
function commit(): string {
	try {
		return execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8', stdio: 'pipe' }).trim();
	} catch {
		return 'unknown: not a git checkout';
	}
}

/** Writes a result file, and its directory. */
export function writeResults(file: string, results: unknown): void {
	mkdirSync(dirname(file), { recursive: true });
	writeFileSync(file, `${JSON.stringify(results, roundFigures, '\t')}\n`);
}

/** Six digits are more than any figure here is good for, and keep the file small. */
function roundFigures(_name: string, value: unknown): unknown {
	return typeof value === 'number' ? Number(value.toPrecision(6)) : value;
}
