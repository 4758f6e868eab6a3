import { CommandError, EXIT } from './exit-codes.ts';
import { printableLines } from './printable.ts';

/** Says on stderr why a command has failed. Gives the exit code. */
export function reportFailure(error: unknown): number {
	if (error instanceof CommandError) {
		process.stderr.write(`sidecar: ${printableLines(error.message)}\n`);
		return error.exitCode;
	}
	const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
	process.stderr.write(`sidecar: ${printableLines(text)}\n`);
	return EXIT.failure;
}
